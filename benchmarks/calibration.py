"""How often intervals cover and verdicts over-claim, by exact enumeration; writes docs/calibration.md."""

import sys
from pathlib import Path

import numpy as np
from scipy.special import gammaln

from wmel.analysis.verdict import DELTA, RHO, STRICT_LABELS, TAU, Label, strict_branches
from wmel.stats.agresti_caffo import agresti_caffo
from wmel.stats.bonett_price import bonett_price
from wmel.stats.clopper_pearson import clopper_pearson
from wmel.stats.miettinen_nurminen import miettinen_nurminen
from wmel.stats.newcombe import newcombe, newcombe_paired
from wmel.stats.pairs import PairedCounts
from wmel.stats.power import binomial_table
from wmel.stats.tango import tango
from wmel.stats.wilson import wilson_bounds

HUNDREDTHS = np.arange(1, 100)
RATES = HUNDREDTHS / 100
ONE_RATE = {"wilson": wilson_bounds, "clopper-pearson": clopper_pearson}
PAIRED = {"tango": tango, "newcombe 10": newcombe_paired, "bonett-price": bonett_price}
DISCORDANT = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
INTERVALS = {"agresti-caffo": agresti_caffo, "newcombe": newcombe, "miettinen-nurminen": miettinen_nurminen}
LEAST_COVERAGE = {"agresti-caffo": 0.90, "newcombe": 0.87, "miettinen-nurminen": 0.90}  # at any n of the page
LEAST_COVERAGE |= {"wilson": 0.83, "clopper-pearson": 0.95, "tango": 0.92, "newcombe 10": 0.87, "bonett-price": 0.92}
MOST_FALSE = {Label.MODEL_BOTTLENECK: 0.029, Label.LEARNED_OUTPERFORMS: 0.029, Label.PLANNER_BOTTLENECK: 0.042}
MOST_FALSE |= {Label.AS_GOOD: 0.052, Label.EQUIVALENT: 0.052}
PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"


def coverage(name: str, n: int) -> float:
    """Least probability, over the grid of rates, that a 95% interval holds the truth."""
    if name in ONE_RATE:
        return _coverage_of_a_rate(name, n)
    return _coverage_of_pairs(name, n) if name in PAIRED else _coverage_of_a_gap(name, n)


def _coverage_of_a_rate(name: str, n: int) -> float:
    low, high = ONE_RATE[name](np.arange(n + 1.0), n)
    held = [(low <= rate + 1e-12) & (high >= rate - 1e-12) for rate in RATES]
    return float(min(binomial_table(n, rate) @ inside for rate, inside in zip(RATES, held, strict=True)))


def _coverage_of_a_gap(name: str, n: int) -> float:
    low, high = INTERVALS[name](*_counts(n))
    chance, least = np.stack([binomial_table(n, rate) for rate in RATES]), 1.0
    for gap in range(-98, 99):
        held = (low <= gap / 100 + 1e-12) & (high >= gap / 100 - 1e-12)
        oracle = HUNDREDTHS[(HUNDREDTHS - gap >= 1) & (HUNDREDTHS - gap <= 99)] - 1
        pairs = np.einsum("ri,ij,rj->r", chance[oracle], held, chance[oracle - gap], optimize=True)
        least = min(least, float(pairs.min()))
    return least


def _coverage_of_pairs(name: str, n: int) -> float:
    """Discordant probabilities from DISCORDANT; concordant pairs split evenly, which only Newcombe's looks at."""
    b, c = (counts.ravel() for counts in np.meshgrid(np.arange(n + 1.0), np.arange(n + 1.0), indexing="ij"))
    fits = b + c <= n
    b, c = b[fits], c[fits]
    both = np.floor((n - b - c) / 2)
    low, high = PAIRED[name](PairedCounts(both, b, c, n - b - c - both))
    least = 1.0
    for first in DISCORDANT:
        for second in DISCORDANT:
            ways = gammaln(n + 1) - gammaln(b + 1) - gammaln(c + 1) - gammaln(n - b - c + 1)
            logs = ways + b * np.log(first) + c * np.log(second) + (n - b - c) * np.log(1 - first - second)
            held = (low <= first - second + 1e-12) & (high >= first - second - 1e-12)
            least = min(least, float(np.exp(logs)[held].sum()))
    return least


def false_claims(n: int, rule: str) -> dict[Label, float]:
    """Greatest probability, over the grid of rates where a claim is false, that it is made."""
    made = strict_made(n) if rule == "strict" else paper_made(n)
    chance = np.stack([binomial_table(n, rate) for rate in RATES])
    p_o, p_l = HUNDREDTHS[:, None], HUNDREDTHS[None, :]
    wrong = {
        Label.MODEL_BOTTLENECK: p_o <= p_l,
        Label.LEARNED_OUTPERFORMS: p_o >= p_l,
        Label.PLANNER_BOTTLENECK: np.maximum(p_o, p_l) > round(100 * RHO),
        Label.AS_GOOD: np.abs(p_o - p_l) >= round(100 * DELTA),
        Label.EQUIVALENT: np.abs(p_o - p_l) >= round(100 * DELTA),
    }
    return {
        label: float((chance @ made[label] @ chance.T)[where].max()) for label, where in wrong.items() if label in made
    }


def strict_made(n: int) -> dict[Label, np.ndarray]:
    """Which counts [n+1,n+1] lead to which claim by the strict rule."""
    counts, alone = _counts(n), np.arange(n + 1.0)
    rates = clopper_pearson(alone, n, confidence=0.90)
    oracle, learned = (type(rates)(*(part[axis] for part in rates)) for axis in (np.s_[:, None], np.s_[None, :]))
    gap, near = (miettinen_nurminen(*counts, confidence=confidence) for confidence in (0.95, 0.90))
    branch = strict_branches(gap, near, oracle, learned)
    return {label: branch == place for place, label in enumerate(STRICT_LABELS)}


def paper_made(n: int) -> dict[Label, np.ndarray]:
    """The same by the documents' rule."""
    s_o, _, s_l, _ = _counts(n)
    low, high = agresti_caffo(*_counts(n))
    undecided = (low <= 0) & (high >= 0)
    return {
        Label.MODEL_BOTTLENECK: low > 0,
        Label.LEARNED_OUTPERFORMS: high < 0,
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
        "## Least coverage of 95% intervals",
        "Of a rate; of the gap of independent arms; of the gap of pairs (discordant probabilities from .01 to .4).",
        "",
        "| n | " + " | ".join([*ONE_RATE, *INTERVALS, *PAIRED]) + " |",
        "|---|" + "---|" * len([*ONE_RATE, *INTERVALS, *PAIRED]),
    ]
    names = [*ONE_RATE, *INTERVALS, *PAIRED]
    lines += [f"| {n} | " + " | ".join(f"{coverage(name, n):.3f}" for name in names) + " |" for n in sizes]
    lines += [
        "",
        "## Greatest probability of a false claim",
        "MODEL BOTTLENECK where the oracle is no better, LEARNED OUTPERFORMS where the model is no better, PLANNER",
        f"BOTTLENECK where a rate exceeds {RHO:g}, AS GOOD and EQUIVALENT where the rates are {DELTA:g} apart or more.",
        "",
        "| n | rule | MODEL BOTTLENECK | LEARNED OUTPERFORMS | PLANNER BOTTLENECK | AS GOOD | EQUIVALENT |",
        "|---|---|---|---|---|---|---|",
    ]
    for n in sizes:
        for rule in ("strict", "paper"):
            found = false_claims(n, rule)
            rates = [f"{found[label]:.3f}" if label in found else "-" for label in MOST_FALSE]
            lines.append(f"| {n} | {rule} | {' | '.join(rates)} |")
    return "\n".join(lines) + "\n"


def _counts(n: int) -> tuple[np.ndarray, int, np.ndarray, int]:
    alone = np.arange(n + 1.0)
    return alone[:, None], n, alone[None, :], n


if __name__ == "__main__":
    PAGE.write_text(page((10, 30, 50, 150)))
    sys.exit(print(f"wrote {PAGE.name}"))
