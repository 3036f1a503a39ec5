"""How often intervals cover and verdicts over-claim, by exact enumeration; writes docs/calibration.md."""

import sys
from pathlib import Path

import numpy as np

from wmel.analysis.verdict import DELTA, RHO, STRICT_LABELS, TAU, Label, strict_branches
from wmel.stats.agresti_caffo import agresti_caffo
from wmel.stats.clopper_pearson import clopper_pearson
from wmel.stats.miettinen_nurminen import miettinen_nurminen
from wmel.stats.newcombe import newcombe
from wmel.stats.power import binomial_table

HUNDREDTHS = np.arange(1, 100)
RATES = HUNDREDTHS / 100
INTERVALS = {"agresti-caffo": agresti_caffo, "newcombe": newcombe, "miettinen-nurminen": miettinen_nurminen}
LEAST_COVERAGE = {"agresti-caffo": 0.90, "newcombe": 0.87, "miettinen-nurminen": 0.90}  # at any n of the page
MOST_FALSE = {Label.MODEL_BOTTLENECK: 0.029, Label.PLANNER_BOTTLENECK: 0.042, Label.AS_GOOD: 0.052}
PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"


def coverage(name: str, n: int) -> float:
    """Least probability, over the grid of rates, that a 95% interval holds the true gap."""
    low, high = INTERVALS[name](*_counts(n))
    chance, least = np.stack([binomial_table(n, rate) for rate in RATES]), 1.0
    for gap in range(-98, 99):
        held = (low <= gap / 100 + 1e-12) & (high >= gap / 100 - 1e-12)
        oracle = HUNDREDTHS[(HUNDREDTHS - gap >= 1) & (HUNDREDTHS - gap <= 99)] - 1
        pairs = np.einsum("ri,ij,rj->r", chance[oracle], held, chance[oracle - gap], optimize=True)
        least = min(least, float(pairs.min()))
    return least


def false_claims(n: int, rule: str) -> dict[Label, float]:
    """Greatest probability, over the grid of rates where a claim is false, that it is made."""
    made = strict_made(n) if rule == "strict" else paper_made(n)
    chance = np.stack([binomial_table(n, rate) for rate in RATES])
    p_o, p_l = HUNDREDTHS[:, None], HUNDREDTHS[None, :]
    wrong = {
        Label.MODEL_BOTTLENECK: p_o <= p_l,
        Label.PLANNER_BOTTLENECK: np.maximum(p_o, p_l) > round(100 * RHO),
        Label.AS_GOOD: p_o - p_l >= round(100 * DELTA),
    }
    return {label: float((chance @ made[label] @ chance.T)[where].max()) for label, where in wrong.items()}


def strict_made(n: int) -> dict[Label, np.ndarray]:
    """Which counts [n+1,n+1] lead to which claim by the strict rule; equivalence counts as a claim of no gap."""
    counts, alone = _counts(n), np.arange(n + 1.0)
    rates = clopper_pearson(alone, n, confidence=0.90)
    oracle, learned = (type(rates)(*(part[axis] for part in rates)) for axis in (np.s_[:, None], np.s_[None, :]))
    gap, near = (miettinen_nurminen(*counts, confidence=confidence) for confidence in (0.95, 0.90))
    branch = strict_branches(gap, near, oracle, learned)
    made = {label: branch == place for place, label in enumerate(STRICT_LABELS)}
    return made | {Label.AS_GOOD: made[Label.AS_GOOD] | made[Label.EQUIVALENT]}


def paper_made(n: int) -> dict[Label, np.ndarray]:
    """The same by the documents' rule."""
    s_o, _, s_l, _ = _counts(n)
    low, high = agresti_caffo(*_counts(n))
    undecided = (low <= 0) & (high >= 0)
    return {
        Label.MODEL_BOTTLENECK: low > 0,
        Label.PLANNER_BOTTLENECK: undecided & (np.maximum(s_o, s_l) / n <= TAU),
        Label.AS_GOOD: undecided & (np.minimum(s_o, s_l) / n >= 1 - TAU),
    }


def page(sizes: tuple[int, ...]) -> str:
    """The whole page."""
    lines = [
        "# Calibration",
        "Exact enumeration over all outcomes of two independent arms of n episodes, worst case over a grid of rates",
        f"from {RATES[0]:g} to {RATES[-1]:g}. Written by `make calibration`; CI fails where a stated bound is broken",
        "(`tests/end_to_end/test_calibration.py`).",
        "",
        "## Least coverage of 95% intervals for the gap",
        "| n | " + " | ".join(INTERVALS) + " |",
        "|---|" + "---|" * len(INTERVALS),
    ]
    lines += [f"| {n} | " + " | ".join(f"{coverage(name, n):.3f}" for name in INTERVALS) + " |" for n in sizes]
    lines += [
        "",
        "## Greatest probability of a false claim",
        "MODEL BOTTLENECK where the oracle is no better; PLANNER BOTTLENECK where a rate exceeds "
        f"{RHO:g}; AS GOOD or EQUIVALENT where the model is {DELTA:g} worse or more.",
        "",
        "| n | rule | MODEL BOTTLENECK | PLANNER BOTTLENECK | AS GOOD, EQUIVALENT |",
        "|---|---|---|---|---|",
    ]
    for n in sizes:
        for rule in ("strict", "paper"):
            rates = " | ".join(f"{rate:.3f}" for rate in false_claims(n, rule).values())
            lines.append(f"| {n} | {rule} | {rates} |")
    return "\n".join(lines) + "\n"


def _counts(n: int) -> tuple[np.ndarray, int, np.ndarray, int]:
    alone = np.arange(n + 1.0)
    return alone[:, None], n, alone[None, :], n


if __name__ == "__main__":
    PAGE.write_text(page((10, 30, 50, 150)))
    sys.exit(print(f"wrote {PAGE.name}"))
