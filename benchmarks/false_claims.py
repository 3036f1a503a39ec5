"""How often each label is false after one look at one comparison: every outcome is enumerated."""

from collections.abc import Callable

import numpy as np
from scipy.special import bdtr

from wmel.analysis.verdict import DELTA, RHO, STRICT_LABELS, Label, strict_branches
from wmel.stats.estimate import Bounds
from wmel.stats.exact import (
    EQUIVALENCE_LEVEL,
    GAP_LEVEL,
    IndependentArms,
    PairedArms,
    TwoArms,
    critical_score,
    shows_gap,
)
from wmel.stats.numerics import count_leading, log_factorials, times_log
from wmel.stats.proportions import clopper_pearson

BRANCHES = {  # label -> where it is false
    Label.MODEL_BOTTLENECK: "the oracle's rate is not higher",
    Label.LEARNED_OUTPERFORMS: "the model's rate is not higher",
    Label.PLANNER_BOTTLENECK: f"a rate is {RHO:g} or more",
    Label.AS_GOOD: f"the rates are {DELTA:g} apart or more, or the oracle's is at most {1 - RHO:g}",
    Label.EQUIVALENT: f"the rates are {DELTA:g} apart or more; AS GOOD, which claims this too, is included",
}
SIZES = (5, 6, 7, 8, 10, 12, 15, 19, 20, 25, 30, 40, 50, 60, 73, 75, 100, 120, 150, 180, 200, 250, 300, 380, 400)
SHARES = np.sin(np.linspace(0, np.pi / 2, 401)) ** 2  # of the range of a rate; narrow steps near both ends
FEW_SHARES = SHARES[::8]
FARTHER = (1.1, 1.25, 1.5, 2.0)  # differences beyond the margin, as multiples of it
NEGLIGIBLE = 1e-12
Critical = Callable[[TwoArms, float, float], float]


def false_claims(n: int, critical: Critical = critical_score) -> dict[Label, dict[str, float]]:
    """The greatest probability of each false label: of n episodes per independent arm, and of n pairs."""
    independent, pairs = independent_false_claims(n, critical), paired_false_claims(n, critical)
    return {label: {"independent": independent[label], "pairs": pairs[label]} for label in BRANCHES}


def independent_false_claims(n: int, critical: Critical = critical_score) -> dict[Label, float]:
    """The greatest probability of each false label of two independent arms of n episodes."""
    claimed, equal = independent_claims(n, critical), (SHARES, SHARES)
    low = np.full(FEW_SHARES.size, RHO), RHO * FEW_SHARES
    high = np.full(FEW_SHARES.size, 1 - RHO), 1 - 2 * RHO * FEW_SHARES
    false = {
        Label.MODEL_BOTTLENECK: [equal],
        Label.LEARNED_OUTPERFORMS: [equal],
        Label.PLANNER_BOTTLENECK: [low, low[::-1]],
        Label.AS_GOOD: [high, *rates_apart(1.0)],
        Label.EQUIVALENT: rates_apart(1.0),
    }
    return {label: max(_probability(claimed[label], *rates) for rates in false[label]) for label in BRANCHES}


def independent_claims(n: int, critical: Critical = critical_score) -> dict[Label, np.ndarray]:
    """Which successes [oracle, learned] of n episodes per arm have which label by the strict rule."""
    oracle_wins, learned_wins, near = compare_counts(IndependentArms(n, n), critical)
    gap = Bounds(np.where(oracle_wins, 1.0, -1.0), np.where(learned_wins, -1.0, 1.0))
    equivalence = Bounds(np.where(near, 0.0, -1.0), np.where(near, 0.0, 1.0))
    rates = clopper_pearson(np.arange(n + 1), n, confidence=0.90)
    oracle, learned = (Bounds(*(bound[axis] for bound in rates)) for axis in (np.s_[:, None], np.s_[None, :]))
    branch = strict_branches(gap, equivalence, oracle, learned)
    claims = {label: branch == place for place, label in enumerate(STRICT_LABELS)}
    return {**claims, Label.EQUIVALENT: claims[Label.EQUIVALENT] | claims[Label.AS_GOOD]}


def paired_false_claims(n: int, critical: Critical = critical_score) -> dict[Label, float]:
    """The greatest probability of each false label of n pairs.

    Where both rates are .1, or both are .9, it is greatest if the arms never differ: then the label depends on one
    rate alone. Where the rates are apart, AS GOOD is likeliest if no pair is failed by both.
    """
    oracle_wins, learned_wins, near = compare_counts(PairedArms(n), critical)
    rates = clopper_pearson(np.arange(n + 1), n, confidence=0.90)
    seldom, often = rates.high <= RHO, rates.low >= 1 - RHO
    if_alike = {rate: binomial_masses(n, np.array([rate]))[0] for rate in (RHO, 1 - RHO)}
    equal, as_good = (SHARES / 2, SHARES / 2), near & often[::-1]  # c pairs fail the oracle
    apart = rates_apart(0.5)
    return {
        Label.MODEL_BOTTLENECK: paired_probability(oracle_wins, *equal),
        Label.LEARNED_OUTPERFORMS: paired_probability(learned_wins, *equal),
        Label.PLANNER_BOTTLENECK: float(if_alike[RHO][seldom].sum()),
        Label.AS_GOOD: max(
            float(if_alike[1 - RHO][often & near[0, 0]].sum()),
            *(paired_probability(as_good, *rates) for rates in apart),
        ),
        Label.EQUIVALENT: max(paired_probability(near, *rates) for rates in apart),
    }


def unequal_false_claims(n_oracle: int, n_learned: int) -> tuple[float, float]:
    """The greatest probability of a false gap, either way, and of false equivalence, of independent arms."""
    oracle_wins, learned_wins, near = compare_counts(IndependentArms(n_oracle, n_learned), critical_score)
    gap = _probability(oracle_wins | learned_wins, SHARES, SHARES)
    return gap, max(_probability(near, *rates) for rates in rates_apart(1.0))


def compare_counts(arms: TwoArms, critical: Critical) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which counts [first, second] show a higher first rate, which a higher second one, and which equivalence."""
    first_wins, second_wins = gap_claims(arms, critical), gap_claims(arms.swapped, critical).T
    near = _shows_no_lower(arms, critical) & _shows_no_lower(arms.swapped, critical).T
    return first_wins, second_wins, near & ~first_wins & ~second_wins


def gap_claims(arms: TwoArms, critical: Critical, level: float = GAP_LEVEL) -> np.ndarray:
    """Which counts [first, second] show a higher first rate."""
    reached = critical(arms, 0.0, level)
    return _leading(arms, lambda first, second: shows_gap(arms, first, second, level, reached))


def _shows_no_lower(arms: TwoArms, critical: Critical) -> np.ndarray:
    """Whether the first rate is shown to be less than the margin below the second."""
    reached = critical(arms, -DELTA, EQUIVALENCE_LEVEL)
    return _leading(arms, lambda first, second: arms.score(first, second, -DELTA) >= reached)


def _leading(arms: TwoArms, holds: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """Which counts [first, second] satisfy what no larger second count does."""
    first, room = arms.counts
    below = count_leading(lambda second: holds(first, second), room)
    return np.arange(room.max())[None, :] < below[:, None]


def rates_apart(most: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rates that are the margin apart, and a few that are farther apart.

    The rates of independent arms reach 1 (`most`). Those of pairs that one arm alone solves add up to 1 at most.
    """
    gaps = [(DELTA, SHARES), *((DELTA * times, FEW_SHARES) for times in FARTHER)]
    one_way = [(gap + most * (1 - gap) * shares, most * (1 - gap) * shares) for gap, shares in gaps]
    return one_way + [(second, first) for first, second in one_way]


def _probability(outcomes: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
    """The greatest probability of outcomes [first, second] of independent arms, over rates [K], [K]."""
    rows = binomial_masses(outcomes.shape[0] - 1, first) @ outcomes
    return float((rows * binomial_masses(outcomes.shape[1] - 1, second)).sum(axis=1).max())


def paired_probability(outcomes: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
    """The same of pairs that one arm alone solves. The second counts of each first one are consecutive."""
    n = len(outcomes) - 1
    since, until = outcomes.argmax(axis=1), outcomes.argmax(axis=1) + outcomes.sum(axis=1)
    mass = binomial_masses(n, first)
    place, count = np.nonzero((mass > NEGLIGIBLE) & (until > 0))
    room, share = n - count, np.clip(second / np.maximum(1 - first, NEGLIGIBLE), 0, 1)[place]
    reached = bdtr(np.minimum(until[count] - 1, room), room, share)
    reached -= np.where(since[count] > 0, bdtr(np.maximum(since[count] - 1, 0), room, share), 0.0)
    return float(np.bincount(place, mass[place, count] * reached, len(first)).max())


def binomial_masses(n: int, rates: np.ndarray) -> np.ndarray:
    """Probabilities [K, n+1] of every number of successes in n episodes, for rates [K]."""
    counts, logs, rates = np.arange(n + 1), log_factorials(n), np.clip(rates, 0, 1)[:, None]
    return np.exp(logs[n] - logs - logs[::-1] + times_log(counts, rates) + times_log(n - counts, 1 - rates))
