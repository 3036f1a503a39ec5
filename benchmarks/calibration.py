"""How often intervals cover and verdicts over-claim, by exact enumeration; writes docs/calibration.md."""

import sys
from pathlib import Path

import numpy as np

from reference_intervals import bonett_price, newcombe, newcombe_paired
from wmel.analysis.verdict import DELTA, RHO, STRICT_LABELS, TAU, Label, strict_branches
from wmel.stats.estimate import Bounds, wilson_bounds
from wmel.stats.paired import PairedCounts, tango
from wmel.stats.power import binomial_table, discordant_outcomes
from wmel.stats.proportions import agresti_caffo, clopper_pearson, miettinen_nurminen

HUNDREDTHS = np.arange(101)
RATES = HUNDREDTHS / 100
ONE_RATE = {"wilson": wilson_bounds, "clopper-pearson": clopper_pearson}
INTERVALS = {"agresti-caffo": agresti_caffo, "newcombe": newcombe, "miettinen-nurminen": miettinen_nurminen}
PAIRED = {"tango": tango, "newcombe 10": newcombe_paired, "bonett-price": bonett_price}
DISCORDANT = (*(hundredths / 100 for hundredths in range(10)), *(twentieths / 20 for twentieths in range(2, 11)))
SIZES = (10, 30, 50, 150)
LEAST_COVERAGE = {"wilson": 0.904, "clopper-pearson": 0.950}  # all bounds: at SIZES, rounded outward
LEAST_COVERAGE |= {"agresti-caffo": 0.905, "newcombe": 0.879, "miettinen-nurminen": 0.904}
LEAST_COVERAGE |= {"tango": 0.929, "newcombe 10": 0.869, "bonett-price": 0.890}
MOST_FALSE = {Label.MODEL_BOTTLENECK: 0.029, Label.LEARNED_OUTPERFORMS: 0.029, Label.PLANNER_BOTTLENECK: 0.043}
MOST_FALSE |= {Label.AS_GOOD: 0.043, Label.EQUIVALENT: 0.050}
MOST_FALSE_OF_PAIRS = {"MODEL BOTTLENECK": 0.033, "LEARNED OUTPERFORMS": 0.033, "AS GOOD or EQUIVALENT": 0.050}
PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"


def coverage(name: str, n: int) -> float:
    """Least probability, over the grid of rates, that a 95% interval holds the truth."""
    if name in ONE_RATE:
        return _coverage_of_a_rate(name, n)
    return _coverage_of_pairs(name, n) if name in PAIRED else _coverage_of_a_gap(name, n)


def _coverage_of_a_rate(name: str, n: int) -> float:
    interval = ONE_RATE[name](np.arange(n + 1.0), n)
    return float(min(binomial_table(n, rate) @ _holds(interval, rate) for rate in RATES))


def _coverage_of_a_gap(name: str, n: int) -> float:
    interval = INTERVALS[name](*_counts(n))
    chance, least = _chances(n), 1.0
    for gap in range(-100, 101):
        oracle = HUNDREDTHS[(gap <= HUNDREDTHS) & (HUNDREDTHS - gap <= 100)]
        held = _holds(interval, gap / 100)
        arms = np.einsum("ri,ij,rj->r", chance[oracle], held, chance[oracle - gap], optimize=True)
        least = min(least, float(arms.min()))
    return least


def _coverage_of_pairs(name: str, n: int) -> float:
    pairs, fits = _pairs(n)
    interval, least = PAIRED[name](pairs), 1.0
    for oracle_only, learned_only, mass in _paired_outcomes(n):
        held = fits & _holds(interval, oracle_only - learned_only)
        least = min(least, float(mass[held].sum()))
    return least


def false_claims(n: int, rule: str) -> dict[Label, float]:
    """Greatest probability, over the grid of rates where a claim is false, that it is made of independent arms."""
    made, chance = strict_made(n) if rule == "strict" else paper_made(n), _chances(n)
    p_o, p_l = HUNDREDTHS[:, None], HUNDREDTHS[None, :]
    apart = np.abs(p_o - p_l) >= round(100 * DELTA)
    wrong = {
        Label.MODEL_BOTTLENECK: p_o <= p_l,
        Label.LEARNED_OUTPERFORMS: p_o >= p_l,
        Label.PLANNER_BOTTLENECK: np.maximum(p_o, p_l) >= round(100 * RHO),
        Label.AS_GOOD: apart | (p_o <= round(100 * (1 - RHO))),
        Label.EQUIVALENT: apart,
    }
    return {
        label: float((chance @ made[label] @ chance.T)[where].max()) for label, where in wrong.items() if label in made
    }


def false_claims_of_pairs(n: int) -> dict[str, float]:
    """The same for pairs and what the strict rule says of their gap; both kinds of equivalence count as one."""
    pairs, fits = _pairs(n)
    gap, near = (tango(pairs, confidence=confidence) for confidence in (0.95, 0.90))
    above, below = gap.low > 0, gap.high < 0
    within = (near.low > -DELTA) & (near.high < DELTA) & ~above & ~below
    worst = dict.fromkeys(MOST_FALSE_OF_PAIRS, 0.0)
    for oracle_only, learned_only, mass in _paired_outcomes(n):
        true_gap = oracle_only - learned_only
        wrong = (true_gap <= 0, true_gap >= 0, abs(true_gap) >= DELTA - 1e-12)
        for claim, made, is_wrong in zip(worst, (above, below, within), wrong, strict=True):
            if is_wrong:
                worst[claim] = max(worst[claim], float(mass[fits & made].sum()))
    return worst


def strict_made(n: int) -> dict[Label, np.ndarray]:
    """Which counts [n+1,n+1] lead to which claim by the strict rule."""
    counts, alone = _counts(n), np.arange(n + 1.0)
    rates = clopper_pearson(alone, n, confidence=0.90)
    oracle, learned = (Bounds(*(part[axis] for part in rates)) for axis in (np.s_[:, None], np.s_[None, :]))
    gap, near = (miettinen_nurminen(*counts, confidence=confidence) for confidence in (0.95, 0.90))
    branch = strict_branches(gap, near, oracle, learned)
    return {label: branch == place for place, label in enumerate(STRICT_LABELS)}


def paper_made(n: int) -> dict[Label, np.ndarray]:
    """The same by the rule of the CPG paper."""
    s_o, _, s_l, _ = _counts(n)
    low, high = agresti_caffo(*_counts(n))
    undecided = (low <= 0) & (high >= 0)
    return {
        Label.MODEL_BOTTLENECK: low > 0,
        Label.LEARNED_OUTPERFORMS: high < 0,
        Label.PLANNER_BOTTLENECK: undecided & (np.maximum(s_o, s_l) / n <= TAU),
        Label.AS_GOOD: undecided & (np.minimum(s_o, s_l) / n >= 1 - TAU),
    }


def _chances(n: int) -> np.ndarray:
    """Probability of every count at every rate of the grid [101,n+1]."""
    return np.stack([binomial_table(n, rate) for rate in RATES])


def _counts(n: int) -> tuple[np.ndarray, int, np.ndarray, int]:
    alone = np.arange(n + 1.0)
    return alone[:, None], n, alone[None, :], n


def _pairs(n: int) -> tuple[PairedCounts, np.ndarray]:
    """All discordant counts [n+1,n+1] with the concordant pairs split evenly, and which of them fit into n pairs."""
    b, c = np.meshgrid(np.arange(n + 1.0), np.arange(n + 1.0), indexing="ij")
    fits = b + c <= n
    b, c = np.where(fits, b, 0), np.where(fits, c, 0)
    both = np.floor((n - b - c) / 2)
    return PairedCounts(both, b, c, n - b - c - both), fits


def _paired_outcomes(n: int):
    """Discordant probabilities of the grid, also exactly delta apart, and the chance of all counts [n+1,n+1]."""
    grid = {(one, other) for one in DISCORDANT for other in DISCORDANT}
    grid |= {(rate + DELTA, rate) for rate in DISCORDANT} | {(rate, rate + DELTA) for rate in DISCORDANT}
    for one, other in sorted(grid):
        if one + other <= 1:
            likely, mass = discordant_outcomes(n, one, other), np.zeros((n + 1, n + 1))
            mass[np.ix_(likely.first, likely.second)] = likely.mass
            yield one, other, mass


def _holds(interval: Bounds, truth: float) -> np.ndarray:
    return (interval.low <= truth + 1e-12) & (interval.high >= truth - 1e-12)


def page(sizes: tuple[int, ...]) -> str:
    """The whole page."""
    parts = [_introduction(), _coverages(sizes), _false_claims(sizes), _of_pairs(sizes)]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def _introduction() -> list[str]:
    return [
        "# Calibration",
        "",
        "After this page you know how often the intervals contain the true value, and how often the verdicts claim",
        "something false.",
        "",
        "The numbers are exact: all outcomes of n episodes per arm are enumerated. Each number is the worst case over",
        "a grid of true rates:",
        "",
        "- **Independent arms**: hundredths from 0 to 1, both included.",
        "- **Pairs**: the probability that only the oracle succeeds, and the probability that only the model succeeds,",
        f"  take {len(DISCORDANT)} values each from {DISCORDANT[0]:g} to {DISCORDANT[-1]:g}, and values that differ",
        f"  by exactly {DELTA:g}.",
        "",
        "The numbers hold for these n and these grids. The page is written by `make calibration`. CI fails if a number",
        "exceeds its bound, which is the worst of its column rounded outward (`tests/end_to_end/test_calibration.py`).",
    ]


def _coverages(sizes: tuple[int, ...]) -> list[str]:
    names = [*ONE_RATE, *INTERVALS, *PAIRED]
    return [
        "## Least coverage of 95% intervals",
        "The smallest probability that the interval contains the true value. Wilson and Clopper-Pearson are intervals",
        "of a rate; Agresti-Caffo, Newcombe and Miettinen-Nurminen of the gap of independent arms; Tango, Newcombe 10",
        "and Bonett-Price of the gap of pairs. Newcombe's method 10 also depends on how many of the pairs with equal",
        "outcomes are solved by both. Here it is half of them in every outcome; the column holds for this case alone.",
        "",
        *_table(["n", *names], [[n, *(f"{coverage(name, n):.3f}" for name in names)] for n in sizes]),
    ]


def _false_claims(sizes: tuple[int, ...]) -> list[str]:
    rows = []
    for n in sizes:
        for rule in ("strict", "paper"):
            found = false_claims(n, rule)
            rows.append([n, rule, *(f"{found[label]:.3f}" if label in found else "-" for label in MOST_FALSE)])
    return [
        "## Greatest probability of a false claim about independent arms",
        "A claim is false in these cases:",
        "",
        "- MODEL BOTTLENECK: the oracle's rate is not higher than the model's.",
        "- LEARNED OUTPERFORMS: the model's rate is not higher than the oracle's.",
        f"- PLANNER BOTTLENECK: at least one of the rates is {RHO:g} or more.",
        f"- AS GOOD: the rates differ by {DELTA:g} or more, or the oracle's rate is {1 - RHO:g} or less.",
        f"- EQUIVALENT: the rates differ by {DELTA:g} or more.",
        "",
        *_table(["n", "rule", *MOST_FALSE], rows),
    ]


def _of_pairs(sizes: tuple[int, ...]) -> list[str]:
    return [
        "## Greatest probability of a false claim about pairs, strict rule",
        "Two claims have no column: PLANNER BOTTLENECK, and the part of AS GOOD that is about the oracle's rate. Both",
        "use exact one-sided 95% bounds of a rate. They are false with a probability of .05 at most, whatever the",
        "correlation within pairs.",
        "",
        *_table(
            ["n", *MOST_FALSE_OF_PAIRS],
            [[n, *(f"{rate:.3f}" for rate in false_claims_of_pairs(n).values())] for n in sizes],
        ),
    ]


def _table(names: list[str], rows: list[list]) -> list[str]:
    return ["| " + " | ".join(map(str, cells)) + " |" for cells in (names, ["---"] * len(names), *rows)]


if __name__ == "__main__":
    PAGE.write_text(page(SIZES))
    sys.exit(print(f"wrote {PAGE.name}"))
