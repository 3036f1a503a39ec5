"""How often 95% intervals cover the truth, and how often the CPG paper's rule claims too much: by enumeration."""

import numpy as np

from reference_intervals import bonett_price, newcombe, newcombe_paired
from wmel.analysis.verdict import DELTA, RHO, TAU, Label
from wmel.stats.estimate import Bounds, wilson_bounds
from wmel.stats.exact import IndependentArms, PairedArms, TwoArms, exact_interval
from wmel.stats.paired import PairedCounts, tango
from wmel.stats.power import binomial_table, discordant_outcomes
from wmel.stats.proportions import agresti_caffo, clopper_pearson, miettinen_nurminen

HUNDREDTHS = np.arange(101)
RATES = HUNDREDTHS / 100
ONE_RATE = {"wilson": wilson_bounds, "clopper-pearson": clopper_pearson}
DISCORDANT = (*(hundredths / 100 for hundredths in range(10)), *(twentieths / 20 for twentieths in range(2, 11)))
SIZES = (10, 30, 50, 150)
MOST_EXACT = 50  # episodes up to which every exact interval is computed


def exact_independent(s_o: np.ndarray, n: int, s_l: np.ndarray, _: int) -> Bounds:
    """The intervals of verdicts for independent arms of n episodes."""
    return _exact(IndependentArms(n, n), *np.broadcast_arrays(s_o, s_l))


def exact_paired(pairs: PairedCounts) -> Bounds:
    """The intervals of verdicts for pairs."""
    return _exact(PairedArms(int(pairs.n.flat[0])), pairs.oracle_only, pairs.learned_only)


def _exact(arms: TwoArms, first: np.ndarray, second: np.ndarray) -> Bounds:
    """Both arms have as many episodes, so exchanging their counts turns the interval around."""
    found = np.zeros((2, *first.shape))
    for place, counts in enumerate(zip(first.ravel().astype(int), second.ravel().astype(int), strict=True)):
        more, less = map(int, sorted(counts, reverse=True))
        low, high = exact_interval(arms, more, less)
        found[:, *np.unravel_index(place, first.shape)] = (low, high) if counts[0] == more else (-high, -low)
    return Bounds(found[0], found[1])


EXACT, EXACT_PAIRED = "exact", "exact, pairs"
INTERVALS = {
    EXACT: exact_independent,
    "agresti-caffo": agresti_caffo,
    "newcombe": newcombe,
    "miettinen-nurminen": miettinen_nurminen,
}
PAIRED = {EXACT_PAIRED: exact_paired, "tango": tango, "newcombe 10": newcombe_paired, "bonett-price": bonett_price}
NAMES = (*ONE_RATE, *INTERVALS, *PAIRED)


def is_enumerated(name: str, n: int) -> bool:
    """Whether the coverage of an interval is computed: exact ones of many episodes take long."""
    return name not in (EXACT, EXACT_PAIRED) or n <= MOST_EXACT


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


def paper_false_claims(n: int) -> dict[Label, float]:
    """Greatest probability, over the grid of rates where a claim of the CPG paper's rule is false, that it is made."""
    made, chance = paper_made(n), _chances(n)
    p_o, p_l = HUNDREDTHS[:, None], HUNDREDTHS[None, :]
    wrong = {
        Label.MODEL_BOTTLENECK: p_o <= p_l,
        Label.LEARNED_OUTPERFORMS: p_o >= p_l,
        Label.PLANNER_BOTTLENECK: np.maximum(p_o, p_l) >= round(100 * RHO),
        Label.AS_GOOD: (np.abs(p_o - p_l) >= round(100 * DELTA)) | (p_o <= round(100 * (1 - RHO))),
    }
    return {label: float((chance @ made[label] @ chance.T)[where].max()) for label, where in wrong.items()}


def paper_made(n: int) -> dict[Label, np.ndarray]:
    """Which counts [n+1,n+1] lead to which claim by the rule of the CPG paper."""
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
