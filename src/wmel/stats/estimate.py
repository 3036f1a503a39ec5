"""An estimate with its interval: means, quantiles, bounds of arrays, and the checks of their inputs."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from wmel.errors import BadInput, require_share, shorten

MOST = 1e12  # episodes; beyond, intervals would be rounding errors
Z95 = 1.96  # the documents' quantile, used wherever their numbers must reproduce


@dataclass(frozen=True)
class Estimate:
    """`value` is None where the quantity is undefined, and then `reason` says why; bounds may be missing alone."""

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
        """Three digits of the value and of its interval, or why there is none."""
        if self.value is None:
            return f"n/a ({self.reason})"
        return f"{self.value:.3g}" + ("" if self.low is None else f" [{self.low:.3g}, {self.high:.3g}]")


def finite_numbers(values: Any, what: str) -> np.ndarray:
    """The values as floats; refused where they are words, truth values, ragged lists, NaN or infinite."""
    try:
        array = np.asarray(values)
        numbers = array.astype(float) if array.dtype.kind in "iufO" else None
    except (TypeError, ValueError, OverflowError):
        numbers = None
    if numbers is None or not np.isfinite(numbers).all():
        raise BadInput(f"{what} must be finite numbers, got {shorten(values)}")
    return numbers


class Bounds(NamedTuple):
    """An interval, or arrays of them."""

    low: np.ndarray
    high: np.ndarray


def checked_counts(successes: object, trials: object) -> tuple[np.ndarray, np.ndarray]:
    """Counts as float arrays; refused where there are no trials, or more successes than trials."""
    counts, totals = finite_numbers(successes, "counts of successes"), finite_numbers(trials, "counts of episodes")
    if (totals < 1).any():
        raise BadInput(f"an arm needs at least one episode, got {totals.min():g}")
    if (totals > MOST).any():
        raise BadInput(f"an arm has at most {MOST:g} episodes, got {totals.max():g}")
    if ((counts < 0) | (counts > totals)).any():
        raise BadInput(f"successes must lie between 0 and the number of trials, got {successes!r} of {trials!r}")
    return counts, totals


def two_sided(confidence: float) -> float:
    """The z of a two-sided interval: 1.96 for 95%."""
    require_share(confidence, "confidence")
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def mean_normal(values: np.ndarray) -> Estimate:
    """Mean of values [n] +- 1.96 population standard deviations of it."""
    values = finite_numbers(values, "the values of a mean")
    if values.size == 0:
        return Estimate.undefined("no values")
    centre = float(values.mean())
    if values.size == 1:
        return Estimate(centre, n=1, method="normal; one value has no interval")
    half = Z95 * float(values.std()) / values.size**0.5
    return Estimate(centre, centre - half, centre + half, values.size, "normal")


def percentile(values: np.ndarray, percent: float) -> Estimate:
    """The given percentile of values [n]; undefined where it could only be the maximum."""
    values = np.asarray(values, dtype=float)
    needed = round(100 / (100 - percent))
    if values.size < needed:
        return Estimate.undefined(
            f"the {percent:g}th percentile needs {needed} values, there are {values.size}", values.size
        )
    return Estimate(float(np.percentile(values, percent)), n=values.size, method=f"p{percent:g}")
