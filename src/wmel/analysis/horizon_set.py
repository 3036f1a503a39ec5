"""A confidence set for the effective horizon: which horizons the data cannot rule out."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from wmel.errors import BadInput, is_number, require
from wmel.stats.pairs import PairedCounts
from wmel.stats.tango import tango


def horizon_set(plan_horizons: Sequence[int], successes: Sequence[np.ndarray], epsilon: float) -> tuple[int, int]:
    """[H_lo, H_hi] from outcomes [n] of the same seeds at each horizon, shortest first.

    H_hi: going down from the longest, the last horizon that every longer one surely beats by at most epsilon (one-sided
    2.5% each, in a fixed order). H_lo: the first that no longer one surely beats by more (2.5% shared over them).
    """
    check_epsilon(epsilon)
    if len(plan_horizons) != len(successes):
        raise BadInput(f"a horizon set needs outcomes per horizon, got {len(plan_horizons)} and {len(successes)}")
    if any(longer <= shorter for shorter, longer in pairwise(plan_horizons)):
        raise BadInput(f"a horizon set needs its horizons shortest first, each once, got {list(plan_horizons)}")
    if not plan_horizons or len({len(outcomes) for outcomes in successes}) != 1:
        raise BadInput("a horizon set needs as many outcomes at every horizon, on the same seeds")
    places, highest = range(len(plan_horizons)), len(plan_horizons) - 1
    while highest > 0 and _is_enough(successes, highest - 1, epsilon):
        highest -= 1
    lowest = next(place for place in places if not _is_too_short(successes, place, epsilon))
    return plan_horizons[lowest], plan_horizons[max(highest, lowest)]


def check_epsilon(epsilon: float) -> None:
    """Refuse an epsilon that is no share."""
    require(is_number(epsilon) and 0 <= epsilon < 1, "epsilon must lie in [0, 1)", epsilon)


def _is_enough(successes: Sequence[np.ndarray], place: int, epsilon: float) -> bool:
    """Whether every longer horizon surely adds at most epsilon."""
    return all(_gain(successes, place, longer, 0.95)[1] <= epsilon for longer in range(place + 1, len(successes)))


def _is_too_short(successes: Sequence[np.ndarray], place: int, epsilon: float) -> bool:
    """Whether some longer horizon surely adds more than epsilon."""
    longer = range(place + 1, len(successes))
    return any(_gain(successes, place, one, 1 - 0.05 / len(longer))[0] > epsilon for one in longer)


def _gain(successes: Sequence[np.ndarray], place: int, longer: int, confidence: float) -> tuple[float, float]:
    """Bounds of what a longer horizon adds to the success of another."""
    low, high = tango(PairedCounts.of(successes[longer], successes[place]), confidence=confidence)
    return float(low), float(high)
