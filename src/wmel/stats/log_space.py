"""Products of many small numbers, as sums of logarithms; scipy.special has them too, at a quarter second of import."""

import numpy as np


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
