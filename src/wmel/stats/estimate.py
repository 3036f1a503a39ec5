"""An estimate with its interval: of a share, of a mean, of a percentile; and checks of the inputs of statistics."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from wmel.errors import BadInput, require_share, shorten

MAX_EPISODES = 1e12  # beyond, intervals are rounding errors
MIN_VALUES = 5  # fewer have no interval: a few values say too little of the shape of their distribution
MIN_MIDDLE = 15  # of an interquartile mean's interval: the middle half of fewer may be one of two groups alone
MIN_EPISODES = 20  # of the interval of a percentile
TAIL = 0.025  # of a 95% interval, on each side
Z95 = 1.96  # the quantile of the CPG paper, used wherever its numbers must reproduce


@dataclass(frozen=True)
class Estimate:
    """A value with its interval. `value` is None if the quantity is undefined, and then `reason` says why.

    `low` and `high` are None where the value has no interval.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    method: str = ""
    reason: str = ""

    @classmethod
    def undefined(cls, reason: str, n: int = 0) -> "Estimate":
        return cls(value=None, n=n, reason=reason)

    @property
    def is_defined(self) -> bool:
        return self.value is not None

    @property
    def words(self) -> str:
        """The value and its interval with three digits, or why the value is undefined."""
        if self.value is None:
            return f"n/a ({self.reason})"
        return f"{self.value:.3g}" + ("" if self.low is None else f" [{self.low:.3g}, {self.high:.3g}]")


def finite_numbers(values: Any, what: str) -> np.ndarray:
    """The values as floats; raises BadInput for text, booleans, ragged lists, NaN and infinity."""
    try:
        array = np.asarray(values)
        numbers = array.astype(float) if array.dtype.kind in "iufO" else None
    except (TypeError, ValueError, OverflowError):
        numbers = None
    if numbers is None or not np.isfinite(numbers).all():
        raise BadInput(f"{what} must be finite numbers, got {shorten(values)}")
    return numbers


class Bounds(NamedTuple):
    """An interval, or arrays of lower and upper bounds."""

    low: np.ndarray
    high: np.ndarray


def check_counts(successes: object, trials: object) -> tuple[np.ndarray, np.ndarray]:
    """Counts as float arrays; raises BadInput if there are no trials, or more successes than trials."""
    counts, totals = finite_numbers(successes, "counts of successes"), finite_numbers(trials, "counts of episodes")
    if (totals < 1).any():
        raise BadInput(f"an arm needs at least one episode, got {totals.min():g}")
    if (totals > MAX_EPISODES).any():
        raise BadInput(f"an arm has at most {MAX_EPISODES:g} episodes, got {totals.max():g}")
    if ((counts < 0) | (counts > totals)).any():
        raise BadInput(f"successes must lie between 0 and the number of trials, got {successes!r} of {trials!r}")
    return counts, totals


def two_sided_z(confidence: float) -> float:
    """The normal quantile of a two-sided interval: 1.96 for 95%."""
    require_share(confidence, "confidence")
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def wilson(successes: int, trials: int) -> Estimate:
    """Share of successes with its 95% interval, which stays inside [0, 1] and always has a width."""
    if trials == 0:
        return Estimate.undefined("no trials")
    low, high = wilson_bounds(successes, trials)
    return Estimate(successes / trials, float(low), float(high), trials, "wilson")


def wilson_bounds(successes: object, trials: object, z: float = Z95) -> Bounds:
    """Bounds of shares, element by element over arrays of counts."""
    counts, totals = check_counts(successes, trials)
    share, weight = counts / totals, z**2 / totals
    centre = (share + weight / 2) / (1 + weight)
    half = z * np.sqrt(share * (1 - share) / totals + weight / (4 * totals)) / (1 + weight)
    return Bounds(np.where(counts == 0, 0.0, centre - half), np.where(counts == totals, 1.0, centre + half))


def mean(values: object, *, lowest: float = -math.inf) -> Estimate:
    """Mean of values [n] with Student's interval, which ends at the lowest possible value."""
    array = finite_numbers(values, "the values of a mean")
    return mean_over_clusters(array, np.arange(array.size), lowest=lowest)


def mean_over_clusters(values: np.ndarray, clusters: np.ndarray, *, lowest: float = -math.inf) -> Estimate:
    """Mean of values [n]; those of one cluster [n] may be alike, and the interval is Student's over clusters."""
    if values.size == 0:
        return Estimate.undefined("no values")
    names, place = np.unique(clusters, return_inverse=True)
    centre, count = float(values.mean()), len(names)
    if count < MIN_VALUES:
        each = "values" if count == values.size else "episodes"
        return Estimate(centre, n=values.size, method=f"fewer than {MIN_VALUES} {each} have no interval")
    if np.ptp(values) == 0:
        return Estimate(centre, n=values.size, method="all values are equal, which shows no spread")
    rest = np.bincount(place, values - centre, count)
    error = math.sqrt(count / (count - 1) * float(rest @ rest)) / values.size
    half = t_quantile(count - 1, 0.95) * error
    return Estimate(centre, max(centre - half, lowest), centre + half, values.size, "t")


def interquartile_mean(values: object) -> Estimate:
    """Mean of values [n] without the lowest and the highest quarter, rounded down, with Student's interval.

    The interval allows for the values that were left out (Yuen 1974, Biometrika 61).
    """
    ordered = np.sort(finite_numbers(values, "the values of an interquartile mean"))
    if ordered.size < MIN_VALUES:
        reason = f"an interquartile mean needs {MIN_VALUES} values, there are {ordered.size}"
        return Estimate.undefined(reason, ordered.size)
    cut = ordered.size // 4
    middle = ordered[cut : ordered.size - cut]
    centre, count = float(middle.mean()), middle.size
    if ordered.size < MIN_MIDDLE:
        return Estimate(centre, n=ordered.size, method=f"fewer than {MIN_MIDDLE} have no interval")
    if np.ptp(middle) == 0:
        return Estimate(centre, n=ordered.size, method="the middle half is all equal, which shows no spread")
    squares = float(ordered.clip(middle[0], middle[-1]).var()) * ordered.size
    half = t_quantile(count - 1, 0.95) * math.sqrt(squares / (count * (count - 1)))
    return Estimate(centre, centre - half, centre + half, ordered.size, "t of the middle half")


def percentile_over_clusters(values: np.ndarray, clusters: np.ndarray, percent: float) -> Estimate:
    """A percentile of values [n]; those of one cluster [n] may be alike. Two of the values are its interval.

    How many values lie below the percentile is binomial, of as many values as if they were independent (Korn and
    Graubard 1998, Survey Methodology 24). Undefined where there are so few values that it is their maximum.
    """
    needed = round(100 / (100 - percent))
    if values.size < needed:
        reason = f"the {percent:g}th percentile needs {needed} values, there are {values.size}"
        return Estimate.undefined(reason, values.size)
    value, (names, place) = float(np.percentile(values, percent)), np.unique(clusters, return_inverse=True)
    episodes = episodes_for_percentile(percent)
    if len(names) < episodes:
        method = f"p{percent:g}; fewer than {episodes} episodes have no interval"
        return Estimate(value, n=values.size, method=method)
    from scipy.special import bdtr  # imported late: it takes a quarter of a second

    count = _effective_count(values <= value, place)
    at_most = bdtr(np.arange(count + 1), count, percent / 100)
    low, high = (at_most <= TAIL).sum(), (at_most < 1 - TAIL).sum() + 1  # ranks among `count` values, from 1
    if high > count:
        return Estimate(value, n=values.size, method=f"p{percent:g}; too few episodes weigh alike for an interval")
    ordered = np.sort(values)
    below, above = ordered[max(low * values.size // count - 1, 0)], ordered[-(-high * values.size // count) - 1]
    return Estimate(value, min(float(below), value), max(float(above), value), values.size, f"p{percent:g}, order")


def episodes_for_percentile(percent: float) -> int:
    """The fewest episodes of an interval: fewer may all lie on one side of the percentile."""
    return max(MIN_EPISODES, math.ceil(math.log(TAIL) / math.log(max(percent, 100 - percent) / 100)))


def _effective_count(chosen: np.ndarray, place: np.ndarray) -> int:
    """How many independent values give the share of those chosen [n] as exactly, if clusters [n] are alike.

    At least as many as if all values of a cluster were equal.
    """
    sizes, share = np.bincount(place), chosen.mean()
    rest = np.bincount(place, chosen - share)
    spread = float(rest @ rest) / chosen.size**2
    independent = share * (1 - share) / spread if spread > 0 else chosen.size
    return int(min(chosen.size, max(independent, chosen.size**2 / (sizes @ sizes))) + 1e-9)


def t_quantile(degrees: float, confidence: float) -> float:
    """The quantile of Student's t for a two-sided interval."""
    require_share(confidence, "confidence")
    from scipy.special import stdtrit  # imported late: it takes a quarter of a second

    return float(stdtrit(degrees, 0.5 + confidence / 2))
