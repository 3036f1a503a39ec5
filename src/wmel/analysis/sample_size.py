"""Sample size: the number of episodes that a decision requires."""

from dataclasses import replace
from typing import Any

from wmel.stats.power import (
    MAX_FOR_WIDTH,
    MAX_SEARCHED,
    Design,
    detectable_gap,
    episodes_for_half_width,
    required_episodes,
)
from wmel.stats.sequential import expected_stop


def answer_questions(
    design: Design,
    *,
    n: int | None = None,
    half_width: float | None = None,
    power: float = 0.8,
    paper: bool = False,
) -> list[dict[str, Any]]:
    """Questions about a design, with answers and notes. An answer of None has its reason in the note."""
    rows = _required_episodes_rows(design, power, paper)
    if n is not None:
        gap = detectable_gap(design.oracle, n, power, paired=design.paired, phi=design.phi)
        note = f"{power:.0%} sure, below the oracle's {design.oracle:g}"
        rows.append(_row(f"probability that {n} per arm decide", design.power(n), _interval_name(design)))
        rows.append(_row(f"smallest gap {n} per arm find", gap, note, "no gap is large enough"))
    if half_width is not None:
        needed = episodes_for_half_width(design.oracle, design.learned, half_width)
        note = "at exactly these rates, agresti-caffo"
        rows.append(_row(f"episodes per arm for +-{half_width:g}", needed, note, f"none up to {MAX_FOR_WIDTH}"))
    anytime = {"pairs until an anytime run stops": False, "the same, given up when futile": True}
    for question, futility in anytime.items():
        run = expected_stop(replace(design, paired=True), futility=futility)
        shares = f"a gap in {run.gap:.0%}, equivalence in {run.equivalence:.0%}"
        rows.append(_row(question, run.mean_pairs, f"mean, stopping at 150; decides for {shares}"))
    return rows


def _required_episodes_rows(design: Design, power: float, paper: bool) -> list[dict[str, Any]]:
    """The n per arm, and the n by the interval of the CPG paper if it applies or is requested."""
    aim = "a gap" if design.equivalence is None else f"equivalence within {design.equivalence:g}"
    designs = {f"episodes per arm for {aim}": design}
    if paper or (design.equivalence is None and not design.paired):
        designs["the same by the CPG paper's interval"] = replace(design, agresti_caffo=True)
    rows = []
    for question, one in designs.items():
        note = f"{power:.0%} sure, {_interval_name(one)}"
        rows.append(_row(question, required_episodes(one, power=power), note, f"none up to {MAX_SEARCHED}"))
    return rows


def _interval_name(design: Design) -> str:
    if design.agresti_caffo:
        return "agresti-caffo"
    return "tango" if design.paired else "miettinen-nurminen"


def _row(question: str, answer: float | None, note: str, missing: str = "") -> dict[str, Any]:
    return {"question": question, "answer": answer, "note": note if answer is not None else f"{missing}; {note}"}
