"""Holm's correction for asking several questions at once."""

import numpy as np

from wmel.errors import BadInput
from wmel.stats.estimate import finite_numbers


def holm(p_values: object) -> np.ndarray:
    """Adjusted p-values [m] in the order given: reject those at most alpha, and all claims hold together."""
    values = finite_numbers(p_values, "p-values")
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise BadInput(f"p-values must be a list of numbers within [0, 1], got {p_values!r}")
    order = np.argsort(values, kind="stable")
    steps = np.arange(len(values), 0, -1)
    adjusted = np.minimum(np.maximum.accumulate(steps * values[order]), 1.0)
    result = np.empty_like(adjusted)
    result[order] = adjusted
    return result
