"""Differences of means: paired t where the arms share seeds, Welch's t where they do not."""

import math

import numpy as np
from scipy.special import stdtrit

from wmel.errors import BadInput, require_share
from wmel.stats.estimate import Estimate
from wmel.stats.finite import finite_numbers


def paired_t(oracle: object, learned: object, *, confidence: float = 0.95) -> Estimate:
    """Mean of oracle - learned over pairs [n] in one order of seeds."""
    one, other = _checked(oracle), _checked(learned)
    if len(one) != len(other):
        raise BadInput(f"paired returns need as many values each, got {len(one)} and {len(other)}")
    gaps = one - other
    error = gaps.std(ddof=1) / math.sqrt(len(gaps))
    return _interval(float(gaps.mean()), float(error), len(gaps) - 1, confidence, len(gaps), "paired t")


def welch(oracle: object, learned: object, *, confidence: float = 0.95) -> Estimate:
    """Mean of oracle less mean of learned for independent arms of unequal spread."""
    one, other = _checked(oracle), _checked(learned)
    parts = one.var(ddof=1) / len(one), other.var(ddof=1) / len(other)
    total = sum(parts)
    degrees = len(one) + len(other) - 2
    if total > 0:
        degrees = total**2 / (parts[0] ** 2 / (len(one) - 1) + parts[1] ** 2 / (len(other) - 1))
    gap = float(one.mean() - other.mean())
    return _interval(gap, math.sqrt(total), degrees, confidence, len(one) + len(other), "welch t")


def t_quantile(degrees: float, confidence: float) -> float:
    """The t of a two-sided interval."""
    require_share(confidence, "confidence")
    return float(stdtrit(degrees, 0.5 + confidence / 2))


def _interval(gap: float, error: float, degrees: float, confidence: float, n: int, method: str) -> Estimate:
    half = t_quantile(degrees, confidence) * error
    return Estimate(gap, gap - half, gap + half, n, method)


def _checked(values: object) -> np.ndarray:
    array = finite_numbers(values, "returns (they exist only under stop = horizon)")
    if array.ndim != 1 or array.size < 2:
        raise BadInput(f"a difference of means needs at least two values per arm, got {array.size}")
    return array
