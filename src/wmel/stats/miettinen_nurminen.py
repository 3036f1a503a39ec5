"""Miettinen and Nurminen's score interval for a difference of proportions: the default for independent arms."""

import numpy as np

from wmel.stats.bisection import crossing
from wmel.stats.bounds import Bounds, checked_counts
from wmel.stats.normal import two_sided


def miettinen_nurminen(s_o: object, n_o: object, s_l: object, n_l: object, *, confidence: float = 0.95) -> Bounds:
    """Bounds of p_o - p_l: the differences a score test does not reject, always inside [-1, 1]."""
    one, one_total, other, other_total = np.broadcast_arrays(*checked_counts(s_o, n_o), *checked_counts(s_l, n_l))
    z, gap = two_sided(confidence), one / one_total - other / other_total

    def accepted(difference: np.ndarray) -> np.ndarray:
        return z - np.abs(score(one, one_total, other, other_total, difference))

    return Bounds(
        np.where(gap <= -1, -1.0, crossing(accepted, gap, np.full(gap.shape, -1.0))),
        np.where(gap >= 1, 1.0, crossing(accepted, gap, np.full(gap.shape, 1.0))),
    )


def score(s_o: np.ndarray, n_o: np.ndarray, s_l: np.ndarray, n_l: np.ndarray, difference: object) -> np.ndarray:
    """Standardised distance of the observed gap from a hypothetical one; 0/0 where they agree counts as 0."""
    difference = np.asarray(difference, float)
    p_l = _restricted(s_o, n_o, s_l, n_l, difference)
    p_o = np.clip(p_l + difference, 0, 1)
    total = n_o + n_l
    variance = (p_o * (1 - p_o) / n_o + p_l * (1 - p_l) / n_l) * total / (total - 1)
    distance = s_o / n_o - s_l / n_l - difference
    with np.errstate(divide="ignore", invalid="ignore"):
        standardised = distance / np.sqrt(np.maximum(variance, 0))
    return np.where(np.abs(distance) < 1e-14, 0.0, standardised)


def _restricted(
    s_o: np.ndarray, n_o: np.ndarray, s_l: np.ndarray, n_l: np.ndarray, difference: np.ndarray
) -> np.ndarray:
    """The likeliest learned rate when the oracle's is `difference` above it: the root of a cubic, by cosine."""
    total = n_o + n_l
    if not difference.any():
        return (s_o + s_l) / total  # equal rates: the pooled share
    a = total
    b = (n_o + 2 * n_l) * difference - total - s_o - s_l
    c = (n_l * difference - total - 2 * s_l) * difference + s_o + s_l
    d = s_l * difference * (1 - difference)
    v = b**3 / (3 * a) ** 3 - b * c / (6 * a**2) + d / (2 * a)
    u = np.where(v < 0, -1.0, 1.0) * np.sqrt(np.maximum(b**2 / (3 * a) ** 2 - c / (3 * a), 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(u != 0, v / u**3, 0.0)
    angle = (np.pi + np.arccos(np.clip(ratio, -1, 1))) / 3
    root = 2 * u * np.cos(angle) - b / (3 * a)
    return np.clip(root, np.maximum(0, -difference), np.minimum(1, 1 - difference))
