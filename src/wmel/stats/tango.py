"""Tango's score interval for a difference of paired proportions: the default where both arms run the same seeds."""

import numpy as np

from wmel.stats.bisection import crossing
from wmel.stats.bounds import Bounds
from wmel.stats.normal import two_sided
from wmel.stats.pairs import PairedCounts


def tango(pairs: PairedCounts, *, confidence: float = 0.95) -> Bounds:
    """Bounds of p_o - p_l: the differences a paired score test does not reject, always inside [-1, 1]."""
    z, b, c, n = two_sided(confidence), pairs.oracle_only, pairs.learned_only, pairs.n
    gap = np.asarray((b - c) / n)

    def accepted(difference: np.ndarray) -> np.ndarray:
        return z - np.abs(paired_score(b, c, n, difference))

    return Bounds(
        np.where(gap <= -1, -1.0, crossing(accepted, gap, np.full(gap.shape, -1.0))),
        np.where(gap >= 1, 1.0, crossing(accepted, gap, np.full(gap.shape, 1.0))),
    )


def paired_score(b: np.ndarray, c: np.ndarray, n: np.ndarray, difference: object) -> np.ndarray:
    """Standardised distance of the observed gap from a hypothetical one; at 0 it is McNemar's (b - c) / sqrt(b + c)."""
    difference = np.asarray(difference, float)
    quadratic = 2 * n
    linear = -b - c + (2 * n - b + c) * difference
    constant = -c * difference * (1 - difference)
    root = np.sqrt(np.maximum(linear**2 - 4 * quadratic * constant, 0))
    learned_only = (root - linear) / (2 * quadratic)
    variance = n * (2 * learned_only + difference * (1 - difference))
    distance = b - c - n * difference
    with np.errstate(divide="ignore", invalid="ignore"):
        standardised = distance / np.sqrt(np.maximum(variance, 0))
    return np.where(np.abs(distance) < 1e-12, 0.0, standardised)
