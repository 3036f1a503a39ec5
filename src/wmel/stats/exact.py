"""Exact tests and intervals of a difference of two success rates, for independent arms and for pairs.

The p-value is the greatest probability, over all rates with the hypothetical difference, of a score at least as high
as the observed one (Chan and Zhang 1999, Biometrics 55). It holds its level at every number of episodes.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist

import numpy as np

from wmel.errors import BadInput
from wmel.stats.estimate import MIN_VALUES, Bounds, Estimate, finite_numbers
from wmel.stats.numerics import count_leading, log_factorials
from wmel.stats.paired import PairedCounts, mcnemar_one_sided_mid_p, paired_score, tango
from wmel.stats.proportions import fisher_mid_p, miettinen_nurminen, score

GAP_LEVEL = 0.025  # of a one-sided test: a gap is shown by a two-sided test at .05
EQUIVALENCE_LEVEL = 0.05  # of each of the two one-sided tests of equivalence
MAX_EXACT = 1000  # episodes per arm; beyond, the score test holds its level
CLAIMED = (-0.1, 0.0, 0.1)  # differences that verdicts test: the interval must agree with these tests
NUISANCE_POINTS = 129  # narrower than any peak of a probability of up to MAX_EXACT episodes
PRECISION = 1e-5  # of the bounds of an interval
NEAR = 0.01  # the usual distance of a bound from that of the score interval
SCORE_STEP = 0.1  # the usual distance of a critical score from the normal quantile
SCORE_PRECISION = 1e-4  # of a critical score
ROUNDING = 1e-9  # scores closer than this are equal
TINY = 1e-300  # stands for a rate of 0, whose logarithm is finite
NEGLIGIBLE = 1e-10  # counts less likely than this are left out


@dataclass(frozen=True)
class IndependentArms:
    """Two arms on different seeds. The counts are the successes of each arm."""

    n_first: int
    n_second: int

    @property
    def largest(self) -> int:
        return max(self.n_first, self.n_second)

    @property
    def swapped(self) -> "IndependentArms":
        return IndependentArms(self.n_second, self.n_first)

    @cached_property
    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Every first count [R], and how many second counts each of them can have [R]."""
        return np.arange(self.n_first + 1), np.full(self.n_first + 1, self.n_second + 1)

    def gap(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return np.asarray(first / self.n_first - second / self.n_second)

    def score(self, first: np.ndarray, second: np.ndarray, difference: object) -> np.ndarray:
        totals = np.array(float(self.n_first)), np.array(float(self.n_second))
        return score(np.asarray(first, float), totals[0], np.asarray(second, float), totals[1], difference)

    def mid_p(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """One-sided mid-p of equal rates, against a higher first one."""
        return fisher_mid_p(first, self.n_first, second, self.n_second)

    def score_interval(self, first: int, second: int, confidence: float) -> Bounds:
        return miettinen_nurminen(first, self.n_first, second, self.n_second, confidence=confidence)

    def nuisance_range(self, difference: float) -> tuple[float, float]:
        """The second rates that allow the difference."""
        return max(0.0, -difference), min(1.0, 1 - difference)

    def probabilities(self, below: np.ndarray, difference: float, rates: np.ndarray) -> np.ndarray:
        """Probability [K] that the second count is less than below [R], for second rates [K]."""
        first = _binomial_masses(self.n_first, rates + difference)
        second = np.cumsum(_binomial_masses(self.n_second, rates), axis=1)
        reached = np.where(below > 0, second[:, np.maximum(below - 1, 0)], 0.0)
        return (first * reached).sum(axis=1)


@dataclass(frozen=True)
class PairedArms:
    """Two arms on the same seeds. The counts are the pairs that one arm alone solves."""

    n: int

    @property
    def largest(self) -> int:
        return self.n

    @property
    def swapped(self) -> "PairedArms":
        return self

    @cached_property
    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Every first count [R], and how many second counts each of them can have [R]."""
        first = np.arange(self.n + 1)
        return first, self.n + 1 - first

    def gap(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return np.asarray((first - second) / self.n)

    def score(self, first: np.ndarray, second: np.ndarray, difference: object) -> np.ndarray:
        return paired_score(np.asarray(first, float), np.asarray(second, float), np.array(float(self.n)), difference)

    def mid_p(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """One-sided mid-p of equal rates, against a higher first one."""
        return mcnemar_one_sided_mid_p(first, second)

    def score_interval(self, first: int, second: int, confidence: float) -> Bounds:
        counts = np.array([0, first, second, self.n - first - second])
        return tango(PairedCounts(*counts), confidence=confidence)

    def nuisance_range(self, difference: float) -> tuple[float, float]:
        """The probabilities of a pair that only the second arm solves that allow the difference."""
        return max(0.0, -difference), (1 - difference) / 2

    def probabilities(self, below: np.ndarray, difference: float, rates: np.ndarray) -> np.ndarray:
        """Probability [K] that the second count is less than below [R], for such probabilities [K]."""
        from scipy.special import betainc  # imported late: it takes a quarter of a second

        first_rates = np.clip(rates + difference, 0, 1)
        first = _binomial_masses(self.n, first_rates)
        room, share = self.n - self.counts[0], rates / np.maximum(1 - first_rates, TINY)
        certain, likely = below > room, (first > NEGLIGIBLE) & (below > 0) & (below <= room)
        place, count = np.nonzero(likely)
        reached = np.where(certain, 1.0, np.zeros_like(first))
        reached[place, count] = betainc(room[count] - below[count] + 1, below[count], np.clip(1 - share[place], 0, 1))
        return (first * reached).sum(axis=1)


TwoArms = IndependentArms | PairedArms


def is_small(arms: TwoArms) -> bool:
    """Whether the test of these arms is exact."""
    return arms.largest <= MAX_EXACT


def method_of(arms: TwoArms) -> str:
    """The name of the test and of its interval."""
    score_test = "tango" if isinstance(arms, PairedArms) else "miettinen-nurminen"
    return "exact score" if is_small(arms) else score_test


def probability_of_improvement(better: object, worse: object) -> Estimate:
    """How likely a value of `better` [n] is above the value of `worse` [n] beside it; equal values count as half.

    Agarwal et al. (2021) compare all values of a stratum, which is a pair here: Mann and Whitney's U of each pair,
    averaged. The interval is that of the gap between the shares of pairs above and below.
    """
    one, other = (finite_numbers(values, "compared values") for values in (better, worse))
    if one.ndim != 1 or one.shape != other.shape:
        raise BadInput(f"paired values need as many values each, got {one.size} and {other.size}")
    if one.size < MIN_VALUES:
        reason = f"a probability of improvement needs {MIN_VALUES} pairs, there are {one.size}"
        return Estimate.undefined(reason, one.size)
    arms, above, below = PairedArms(one.size), int((one > other).sum()), int((one < other).sum())
    low, high = exact_interval(arms, above, below)
    value = 0.5 + (above - below) / (2 * one.size)
    return Estimate(value, 0.5 + float(low) / 2, 0.5 + float(high) / 2, one.size, method_of(arms))


def p_value(arms: TwoArms, first: int, second: int, difference: float = 0.0) -> float:
    """One-sided p-value of the true difference being at most `difference`, against a greater one.

    At 0 it is at least the mid-p of the conditional test (McNemar, Fisher), so the two never disagree on a claim.
    """
    reached = float(arms.score(np.array(first), np.array(second), difference))
    if is_small(arms):
        value = _greatest_probability(arms, reached - ROUNDING * max(1.0, abs(reached)), difference)
    else:
        value = 1 - NormalDist().cdf(reached)
    return value if difference else max(value, float(arms.mid_p(np.array(first), np.array(second))))


def difference_p(arms: TwoArms, first: int, second: int) -> float:
    """Two-sided p-value of equal rates: twice the smaller one-sided one."""
    return min(1.0, 2 * min(p_value(arms, first, second), p_value(arms.swapped, second, first)))


def shows_gap(
    arms: TwoArms, first: np.ndarray, second: np.ndarray, level: float = GAP_LEVEL, critical: float | None = None
) -> np.ndarray:
    """Whether counts [R], [R] show a higher first rate, one-sided at `level`; `critical` is the score to reach."""
    critical = critical_score(arms, 0.0, level) if critical is None else critical
    shown = arms.score(first, second, 0.0) >= critical - ROUNDING
    if shown.any() and (is_small(arms) or isinstance(arms, PairedArms)):  # Fisher's takes n times the memory
        shown = shown & (arms.mid_p(first, second) <= level)
    return shown


@lru_cache(maxsize=1 << 14)
def critical_score(arms: TwoArms, difference: float, level: float) -> float:
    """The score from which a difference above `difference` is shown, one-sided at `level`."""
    expected = NormalDist().inv_cdf(1 - level)
    if not is_small(arms):
        return expected

    def holds(reached: float) -> bool:
        return _greatest_probability(arms, reached, difference) <= level

    low, high = expected, expected + SCORE_STEP
    while not holds(high):
        low, high = high, high + SCORE_STEP
    while low > 0 and holds(low):
        low, high = low - SCORE_STEP, low
    while high - low > SCORE_PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@lru_cache(maxsize=1 << 14)
def exact_interval(arms: TwoArms, first: int, second: int, confidence: float = 0.95) -> Bounds:
    """Bounds of the first rate minus the second: the differences that neither one-sided test rejects.

    They lie inside [-1, 1]. 0 and the margins of equivalence are outside exactly where the tests reject them.
    """
    level, guess = (1 - confidence) / 2, arms.score_interval(first, second, confidence)
    if not is_small(arms):
        low = min(guess.low, 0.0) if p_value(arms, first, second) > level else guess.low
        high = max(guess.high, 0.0) if p_value(arms.swapped, second, first) > level else guess.high
        return Bounds(np.array(low), np.array(high))
    low = _lower_bound(arms, first, second, level, float(guess.low))
    high = -_lower_bound(arms.swapped, second, first, level, -float(guess.high))
    return Bounds(np.array(low), np.array(high))


def _lower_bound(arms: TwoArms, first: int, second: int, level: float, guess: float) -> float:
    """The lowest difference that is not rejected in favour of a greater one; `guess` is close to it."""
    observed = float(arms.gap(np.array(first), np.array(second)))
    if observed <= -1:
        return -1.0

    def rejects(difference: float) -> bool:
        return difference < observed and p_value(arms, first, second, difference) <= level

    rejected = max((point for point in CLAIMED if rejects(point)), default=-1.0)
    accepted = min((point for point in (*CLAIMED, observed) if point > rejected), default=1.0)
    for point in (guess - NEAR, guess + NEAR):
        if rejected < point < accepted:
            rejected, accepted = (point, accepted) if rejects(point) else (rejected, point)
    while accepted - rejected > PRECISION:
        middle = (rejected + accepted) / 2
        rejected, accepted = (middle, accepted) if rejects(middle) else (rejected, middle)
    return accepted


def _greatest_probability(arms: TwoArms, reached: float, difference: float) -> float:
    """The greatest probability of a score of at least `reached`, over all rates with this difference.

    The score falls with every second count and rises with every first one, so thresholds describe the outcomes.
    """
    first, room = arms.counts
    below = count_leading(lambda second: arms.score(first, second, difference) >= reached, room)
    below = np.minimum(np.maximum.accumulate(below), room)
    low, high = arms.nuisance_range(difference)

    def probabilities(angles: np.ndarray) -> np.ndarray:
        return arms.probabilities(below, difference, low + (high - low) * np.sin(angles) ** 2)

    angles = np.linspace(0, np.pi / 2, NUISANCE_POINTS)
    found = probabilities(angles)
    highest = np.argsort(found)[-3:]
    spacing = angles[1] - angles[0]
    near = (angles[highest][:, None] + spacing * np.linspace(-0.75, 0.75, 7)).ravel().clip(0, np.pi / 2)
    return float(min(1.0, max(found.max(), probabilities(near).max())))


def _binomial_masses(n: int, rates: np.ndarray) -> np.ndarray:
    """Probabilities [K, n+1] of every count in n episodes, for rates [K]."""
    counts, ways = _ways(n)
    rates = np.clip(rates, 0, 1)[:, None]
    logs = counts * np.log(np.maximum(rates, TINY)) + (n - counts) * np.log(np.maximum(1 - rates, TINY))
    return np.exp(ways + logs)


@lru_cache(maxsize=2048)
def _ways(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The counts 0..n, and the logarithm of the number of ways of each."""
    logs = log_factorials(n)
    return np.arange(n + 1.0), logs[n] - logs - logs[::-1]
