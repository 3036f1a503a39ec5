"""Where something monotone changes, for arrays at once."""

from collections.abc import Callable

import numpy as np

HALVINGS = 60


def crossing(function: Callable[[np.ndarray], np.ndarray], positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """Points between `positive`, where the function is at least 0, and `negative`, where it is not."""
    inside, outside = np.array(positive, float), np.array(negative, float)
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        kept = function(middle) >= 0
        inside, outside = np.where(kept, middle, inside), np.where(kept, outside, middle)
    return (inside + outside) / 2


def leading(holds: Callable[[np.ndarray], np.ndarray], limit: np.ndarray) -> np.ndarray:
    """How many of the numbers 0, 1, ... below `limit` satisfy what no larger one does, element by element."""
    known, beyond = np.zeros_like(limit), np.array(limit)
    while (unsettled := known < beyond).any():
        middle = (known + beyond) // 2
        held = holds(np.minimum(middle, limit - 1))
        known, beyond = np.where(unsettled & held, middle + 1, known), np.where(unsettled & ~held, middle, beyond)
    return known
