"""Agresti and Caffo's interval for a difference of proportions: the documents' interval."""

import numpy as np

from wmel.stats.bounds import Bounds, checked_counts
from wmel.stats.normal import Z95


def agresti_caffo(s_o: object, n_o: object, s_l: object, n_l: object, *, z: float = Z95) -> Bounds:
    """Bounds of p_o - p_l with one success and one failure added to each arm; they may leave [-1, 1]."""
    first, first_total = checked_counts(s_o, n_o)
    second, second_total = checked_counts(s_l, n_l)
    p_o, p_l = (first + 1) / (first_total + 2), (second + 1) / (second_total + 2)
    half = z * np.sqrt(p_o * (1 - p_o) / (first_total + 2) + p_l * (1 - p_l) / (second_total + 2))
    return Bounds(p_o - p_l - half, p_o - p_l + half)
