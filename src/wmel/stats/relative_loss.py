"""How much of the oracle's success is lost: 1 - p_l / p_o, with an interval by MOVER-R."""

import numpy as np

from wmel.stats.bounds import Bounds, checked_counts
from wmel.stats.normal import two_sided
from wmel.stats.wilson import wilson_bounds


def relative_loss(s_o: object, n_o: object, s_l: object, n_l: object, *, confidence: float = 0.95) -> Bounds:
    """Bounds from Wilson limits; the lower one is -inf where the oracle's own rate may be 0."""
    first, first_total = checked_counts(s_o, n_o)
    second, second_total = checked_counts(s_l, n_l)
    p_o, p_l, z = first / first_total, second / second_total, two_sided(confidence)
    (low_o, high_o), (low_l, high_l) = wilson_bounds(first, first_total, z), wilson_bounds(second, second_total, z)
    product = p_o * p_l
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.sqrt(np.maximum(product**2 - low_l * high_o * (2 * p_l - low_l) * (2 * p_o - high_o), 0))
        outer = np.sqrt(np.maximum(product**2 - high_l * low_o * (2 * p_l - high_l) * (2 * p_o - low_o), 0))
        least = (product - inner) / (high_o * (2 * p_o - high_o))
        most = np.where(low_o > 0, (product + outer) / (low_o * (2 * p_o - low_o)), np.inf)
    return Bounds(1 - most, 1 - least)
