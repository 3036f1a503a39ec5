"""Where a monotone function crosses zero, for arrays at once."""

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
