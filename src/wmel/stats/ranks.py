"""Rank correlations, plain and partial."""

import math
from collections.abc import Sequence

import numpy as np

from wmel.errors import require
from wmel.stats.estimate import Estimate, finite_numbers

ALL_EQUAL = "values that are all equal have no ranks to correlate"
MIN_PARTIAL = 4  # three values leave no freedom once the third list is accounted for
ROUNDING = 1e-9


def spearman(one: Sequence[float], other: Sequence[float]) -> Estimate:
    """The correlation of ranks, where equal values share their mean rank; it has no interval, for want of values."""
    require(len(one) == len(other), "a correlation needs two lists of one length", (len(one), len(other)))
    first, second = (_ranks(finite_numbers(values, "ranked values")) for values in (one, other))
    if len(one) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return Estimate.undefined(ALL_EQUAL, n=len(one))
    return Estimate(float(np.corrcoef(first, second)[0, 1]), n=len(one), method="Spearman")


def partial_spearman(one: Sequence[float], other: Sequence[float], control: Sequence[float]) -> Estimate:
    """The correlation of the ranks of two lists, given the ranks of a third."""
    count = len(one)
    pairs = [spearman(*pair).value for pair in ((one, other), (one, control), (other, control))]
    if count < MIN_PARTIAL:
        return Estimate.undefined(f"fewer than {MIN_PARTIAL} values", n=count)
    plain, first, second = pairs
    if plain is None or first is None or second is None:
        return Estimate.undefined(ALL_EQUAL, n=count)
    left = (1 - first**2) * (1 - second**2)
    if left < ROUNDING:
        return Estimate.undefined("one list has the same order as the list held fixed", n=count)
    value = (plain - first * second) / math.sqrt(left)
    return Estimate(min(max(value, -1.0), 1.0), n=count, method="partial Spearman")


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks [n]; equal values have their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]
