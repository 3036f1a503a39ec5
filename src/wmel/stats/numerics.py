"""Root finding on arrays, and products of many small numbers as sums of logarithms."""

from collections.abc import Callable

import numpy as np

from wmel.stats.estimate import Bounds

HALVINGS = 60


def find_crossing(
    function: Callable[[np.ndarray], np.ndarray], positive: np.ndarray, negative: np.ndarray
) -> np.ndarray:
    """Points between `positive`, where the function is at least 0, and `negative`, where it is below 0."""
    inside, outside = np.array(positive, float), np.array(negative, float)
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        is_inside = function(middle) >= 0
        inside, outside = np.where(is_inside, middle, inside), np.where(is_inside, outside, middle)
    return (inside + outside) / 2


def invert_score(score: Callable[[np.ndarray], np.ndarray], gap: np.ndarray, z: float) -> Bounds:
    """The differences around an observed gap whose score is at most z in size, always inside [-1, 1]."""

    def accepts(difference: np.ndarray) -> np.ndarray:
        return z - np.abs(score(difference))

    return Bounds(
        np.where(gap <= -1, -1.0, find_crossing(accepts, gap, np.full(gap.shape, -1.0))),
        np.where(gap >= 1, 1.0, find_crossing(accepts, gap, np.full(gap.shape, 1.0))),
    )


def count_leading(holds: Callable[[np.ndarray], np.ndarray], limit: np.ndarray) -> np.ndarray:
    """For each element, how many of the numbers 0, 1, ... below `limit` satisfy a condition that no larger one does."""
    known, beyond = np.zeros_like(limit), np.array(limit)
    while (unsettled := known < beyond).any():
        middle = (known + beyond) // 2
        holding = holds(np.minimum(middle, limit - 1))
        known, beyond = np.where(unsettled & holding, middle + 1, known), np.where(unsettled & ~holding, middle, beyond)
    return known


def log_factorials(largest: int) -> np.ndarray:
    """log k! for k = 0..largest."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, largest + 1)))])


def log_half_factorials(largest: int) -> np.ndarray:
    """log of 1/2 * 3/2 * ... * (k - 1/2) for k = 0..largest, which is Gamma(k + 1/2) / Gamma(1/2)."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(largest) + 0.5))])


def times_log(count: np.ndarray, base: np.ndarray | float) -> np.ndarray:
    """log(base ** count), where 0 ** 0 is 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(count == 0, 0.0, count * np.log(base))


def log_mean_exp(logs: np.ndarray) -> np.ndarray:
    """Log of the mean over the last axis of numbers given by their logs."""
    largest = logs.max(axis=-1, keepdims=True)
    return np.log(np.exp(logs - largest).mean(axis=-1)) + largest[..., 0]
