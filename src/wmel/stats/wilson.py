"""Wilson's score interval for a proportion."""

import numpy as np

from wmel.stats.bounds import Bounds, checked_counts
from wmel.stats.estimate import Estimate
from wmel.stats.normal import Z95


def wilson(successes: int, trials: int) -> Estimate:
    """Share of successes with its 95% interval, which stays inside [0, 1] and never collapses."""
    if trials == 0:
        return Estimate.undefined("no trials")
    low, high = wilson_bounds(successes, trials)
    return Estimate(successes / trials, float(low), float(high), trials, "wilson")


def wilson_bounds(successes: object, trials: object, z: float = Z95) -> Bounds:
    """Bounds of shares, element by element over arrays of counts."""
    counts, totals = checked_counts(successes, trials)
    share, weight = counts / totals, z**2 / totals
    centre = (share + weight / 2) / (1 + weight)
    half = z * np.sqrt(share * (1 - share) / totals + weight / (4 * totals)) / (1 + weight)
    return Bounds(np.where(counts == 0, 0.0, centre - half), np.where(counts == totals, 1.0, centre + half))
