"""Root finding on arrays, and products of many small numbers as sums of logarithms."""

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


def log_factorials(most: int) -> np.ndarray:
    """log k! for k = 0..most."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, most + 1)))])


def log_half_factorials(most: int) -> np.ndarray:
    """log of 1/2 * 3/2 * ... * (k - 1/2) for k = 0..most: the gamma function at half numbers, over that at 1/2."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(most) + 0.5))])


def times_log(count: np.ndarray, base: np.ndarray | float) -> np.ndarray:
    """log(base ** count), where 0 ** 0 is 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(count == 0, 0.0, count * np.log(base))


def log_mean_exp(logs: np.ndarray) -> np.ndarray:
    """Log of the mean over the last axis of numbers given by their logs."""
    largest = logs.max(axis=-1, keepdims=True)
    return np.log(np.exp(logs - largest).mean(axis=-1)) + largest[..., 0]
