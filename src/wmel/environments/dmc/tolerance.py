"""How DeepMind Control turns a number into a reward in [0, 1]: 1 within bounds, falling over a margin outside."""

import math
from typing import Literal

from wmel.arrays import Array, namespace_of

Falling = Literal["gaussian", "linear", "quadratic"]


def tolerance(
    numbers: Array,
    low: float = 0.0,
    high: float = 0.0,
    margin: float = 0.0,
    falling: Falling = "gaussian",
    at_margin: float = 0.1,
) -> Array:
    """numbers [...] -> rewards [...]; `at_margin` is the reward a margin away from the bounds."""
    xp = namespace_of(numbers)
    inside = (numbers >= low) & (numbers <= high)
    if margin == 0:
        return xp.where(inside, 1.0, 0.0)
    distance = xp.where(numbers < low, low - numbers, numbers - high) / margin
    return xp.where(inside, 1.0, _FALLING[falling](distance, at_margin))


def _gaussian(distance: Array, at_margin: float) -> Array:
    return namespace_of(distance).exp(distance**2 * math.log(at_margin))


def _linear(distance: Array, at_margin: float) -> Array:
    return (1 - distance * (1 - at_margin)).clip(0)


def _quadratic(distance: Array, at_margin: float) -> Array:
    return (1 - distance**2 * (1 - at_margin)).clip(0)


_FALLING = {"gaussian": _gaussian, "linear": _linear, "quadratic": _quadratic}
