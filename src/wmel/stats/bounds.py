"""Lower and upper bounds, for one pair of counts or for arrays of them."""

from typing import NamedTuple

import numpy as np

from wmel.errors import BadInput
from wmel.stats.finite import finite_numbers

MOST = 1e12  # episodes; beyond, intervals would be rounding errors


class Bounds(NamedTuple):
    """An interval, or arrays of them."""

    low: np.ndarray
    high: np.ndarray


def checked_counts(successes: object, trials: object) -> tuple[np.ndarray, np.ndarray]:
    """Counts as float arrays; refused where there are no trials, or more successes than trials."""
    counts, totals = finite_numbers(successes, "counts of successes"), finite_numbers(trials, "counts of episodes")
    if (totals < 1).any():
        raise BadInput(f"an arm needs at least one episode, got {totals.min():g}")
    if (totals > MOST).any():
        raise BadInput(f"an arm has at most {MOST:g} episodes, got {totals.max():g}")
    if ((counts < 0) | (counts > totals)).any():
        raise BadInput(f"successes must lie between 0 and the number of trials, got {successes!r} of {trials!r}")
    return counts, totals
