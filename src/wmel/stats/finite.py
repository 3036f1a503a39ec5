"""Values that must be numbers."""

from typing import Any

import numpy as np

from wmel.errors import BadInput


def finite_numbers(values: Any, what: str) -> np.ndarray:
    """The values as floats; refused where they are words, truth values, ragged lists, NaN or infinite."""
    try:
        array = np.asarray(values)
        numbers = array.astype(float) if array.dtype.kind in "iufO" else None
    except (TypeError, ValueError, OverflowError):
        numbers = None
    if numbers is None or not np.isfinite(numbers).all():
        raise BadInput(f"{what} must be finite numbers, got {_short(values)}")
    return numbers


def _short(values: Any) -> str:
    words = repr(values)
    return words if len(words) <= 80 else f"{words[:77]}..."
