"""An estimate with its interval, the interval of a share, and checks of the inputs of statistics."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from wmel.errors import BadInput, require_share, shorten

MAX_EPISODES = 1e12  # beyond, intervals are rounding errors
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
