"""Before a run: how many episodes it needs, and what the episodes one has can find."""

from dataclasses import replace
from typing import Any

from wmel.stats.power import LARGEST, Design, detectable_gap, expected_rounds, required_episodes


def needs(
    design: Design, *, n: int | None = None, power: float = 0.8, paper_first: bool = False
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
    if design.equivalence is None:
        rounds, decided = expected_rounds(replace(design, paired=True))
        rows.append(
            _row("pairs until an anytime run decides", rounds, f"mean, stopping at 150; decides in {decided:.0%}")
        )
    return rows


def _row(question: str, answer: float | None, note: str) -> dict[str, Any]:
    return {
        "question": question,
        "answer": answer,
        "note": note if answer is not None else f"none up to {LARGEST}; {note}",
    }
