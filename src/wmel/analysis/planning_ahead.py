"""Before a run: how many episodes it needs, and what the episodes one has can find."""

from dataclasses import replace
from typing import Any

from wmel.stats.expected_rounds import expected_rounds
from wmel.stats.power import LARGEST, Design, detectable_gap, required_episodes
from wmel.stats.precision import episodes_for_half_width


def needs(
    design: Design,
    *,
    n: int | None = None,
    half_width: float | None = None,
    power: float = 0.8,
    paper_first: bool = False,
) -> list[dict[str, Any]]:
    """Questions, answers and notes for a design; an answer is None where there is none, and the note says why."""
    sure = f"{power:.0%} sure"
    interval = "tango" if design.paired else "miettinen-nurminen"
    aim = "a gap" if design.equivalence is None else f"equivalence within {design.equivalence:g}"
    rows = [_row(f"episodes per arm for {aim}", required_episodes(design, power), f"{sure}, {interval}")]
    if design.equivalence is None and not design.paired:
        documents = required_episodes(replace(design, documents=True), power)
        rows.insert(
            0 if paper_first else 1, _row("the same by the documents' interval", documents, f"{sure}, agresti-caffo")
        )
    if n is not None:
        rows.append(_row(f"probability that {n} per arm decide", design.power(n), interval))
        gap = detectable_gap(design.oracle, n, power, paired=design.paired, phi=design.phi)
        rows.append(_row(f"smallest gap {n} per arm find", gap, f"{sure}, below the oracle's {design.oracle:g}"))
    if half_width is not None:
        needed = episodes_for_half_width(design.oracle, design.learned, half_width)
        rows.append(_row(f"episodes per arm for +-{half_width:g}", needed, "at exactly these rates, agresti-caffo"))
    if design.equivalence is None:
        anytime = {"pairs until an anytime run decides": False, "the same, given up when futile": True}
        for question, futility in anytime.items():
            run = expected_rounds(replace(design, paired=True), futility=futility)
            rows.append(_row(question, run.mean, f"mean, stopping at 150; decides in {run.decides:.0%}"))
    return rows


def _row(question: str, answer: float | None, note: str) -> dict[str, Any]:
    return {
        "question": question,
        "answer": answer,
        "note": note if answer is not None else f"none up to {LARGEST}; {note}",
    }
