"""Intervals of a difference that wmel does not report, to compare those with that it does."""

import numpy as np

from wmel.stats.estimate import Bounds, check_counts, two_sided_z, wilson_bounds
from wmel.stats.paired import PairedCounts


def newcombe(s_o: object, n_o: object, s_l: object, n_l: object, *, confidence: float = 0.95) -> Bounds:
    """Newcombe: bounds of p_o - p_l for independent arms, Wilson limits squared and added."""
    first, first_total = check_counts(s_o, n_o)
    second, second_total = check_counts(s_l, n_l)
    return _squared_and_added(first, first_total, second, second_total, np.zeros(()), two_sided_z(confidence))


def newcombe_paired(pairs: PairedCounts, *, confidence: float = 0.95) -> Bounds:
    """Newcombe's method 10: the same with the correlation of the pairs, corrected for continuity where positive."""
    a, b, c, d = pairs.both, pairs.oracle_only, pairs.learned_only, pairs.neither
    margins, concord = (a + b) * (c + d) * (a + c) * (b + d), a * d - b * c
    corrected = np.where(concord > 0, np.maximum(concord - pairs.n / 2, 0), concord)
    with np.errstate(invalid="ignore", divide="ignore"):
        phi = np.where(margins > 0, corrected / np.sqrt(margins), 0.0)
    return _squared_and_added(a + b, pairs.n, a + c, pairs.n, phi, two_sided_z(confidence))


def _squared_and_added(
    first: np.ndarray, first_total: np.ndarray, second: np.ndarray, second_total: np.ndarray, phi: np.ndarray, z: float
) -> Bounds:
    p_o, p_l = first / first_total, second / second_total
    one, other = wilson_bounds(first, first_total, z), wilson_bounds(second, second_total, z)
    below, above = p_o - one.low, one.high - p_o
    under, over = p_l - other.low, other.high - p_l
    low = np.maximum(below**2 - 2 * phi * below * over + over**2, 0)
    high = np.maximum(above**2 - 2 * phi * above * under + under**2, 0)
    return Bounds(p_o - p_l - np.sqrt(low), p_o - p_l + np.sqrt(high))


def bonett_price(pairs: PairedCounts, *, confidence: float = 0.95) -> Bounds:
    """Bonett and Price: bounds of p_o - p_l with one pair of each discordant kind added."""
    b, c = (pairs.oracle_only + 1) / (pairs.n + 2), (pairs.learned_only + 1) / (pairs.n + 2)
    half = two_sided_z(confidence) * np.sqrt((b + c - (b - c) ** 2) / (pairs.n + 2))
    return Bounds(np.maximum(b - c - half, -1), np.minimum(b - c + half, 1))
