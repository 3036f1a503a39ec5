"""Spearman's rank correlation."""

from collections.abc import Sequence

import numpy as np

from wmel.errors import require
from wmel.stats.estimate import Estimate
from wmel.stats.finite import finite_numbers


def spearman(one: Sequence[float], other: Sequence[float]) -> Estimate:
    """The correlation of ranks, equal values sharing theirs; an interval from so few is not attempted."""
    require(len(one) == len(other), "a correlation needs two lists of one length", (len(one), len(other)))
    first, second = (_ranks(finite_numbers(values, "ranked values")) for values in (one, other))
    if len(one) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return Estimate.undefined("values that are all alike have no ranks to correlate", n=len(one))
    return Estimate(float(np.corrcoef(first, second)[0, 1]), n=len(one), method="Spearman")


def _ranks(values: np.ndarray) -> np.ndarray:
    """The mean rank of equal values: [n]"""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]
