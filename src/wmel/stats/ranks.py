"""Rank correlation, with an interval."""

import math
from collections.abc import Sequence

import numpy as np

from wmel.errors import require
from wmel.stats.estimate import Estimate, finite_numbers

ALL_ALIKE = "values that are all alike have no ranks to correlate"
FEWEST_PARTIAL = 4  # with three the third list leaves one way to go
ROUNDING = 1e-9


def spearman(one: Sequence[float], other: Sequence[float]) -> Estimate:
    """The correlation of ranks, equal values sharing theirs; an interval from so few is not attempted."""
    require(len(one) == len(other), "a correlation needs two lists of one length", (len(one), len(other)))
    first, second = (_ranks(finite_numbers(values, "ranked values")) for values in (one, other))
    if len(one) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return Estimate.undefined(ALL_ALIKE, n=len(one))
    return Estimate(float(np.corrcoef(first, second)[0, 1]), n=len(one), method="Spearman")


def partial_spearman(one: Sequence[float], other: Sequence[float], given: Sequence[float]) -> Estimate:
    """What is left of the correlation of ranks once those of `given` are accounted for."""
    count = len(one)
    pairs = [spearman(*pair).value for pair in ((one, other), (one, given), (other, given))]
    if count < FEWEST_PARTIAL:
        return Estimate.undefined(f"fewer than {FEWEST_PARTIAL} values", n=count)
    plain, first, second = pairs
    if plain is None or first is None or second is None:
        return Estimate.undefined(ALL_ALIKE, n=count)
    left = (1 - first**2) * (1 - second**2)
    if left < ROUNDING:
        return Estimate.undefined("one list is ordered just as what is held fixed: nothing of it is left", n=count)
    value = (plain - first * second) / math.sqrt(left)
    return Estimate(min(max(value, -1.0), 1.0), n=count, method="partial Spearman")


def _ranks(values: np.ndarray) -> np.ndarray:
    """The mean rank of equal values: [n]"""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]
