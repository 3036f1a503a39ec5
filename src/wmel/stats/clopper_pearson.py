"""Clopper and Pearson's exact interval for a proportion."""

import numpy as np
from scipy.special import betaincinv

from wmel.errors import require_share
from wmel.stats.bounds import Bounds, checked_counts


def clopper_pearson(successes: object, trials: object, *, confidence: float = 0.95) -> Bounds:
    """Two-sided bounds that never cover too little; at confidence 90% each is a one-sided 95% bound."""
    counts, totals = checked_counts(successes, trials)
    require_share(confidence, "confidence")
    tail = (1 - confidence) / 2
    low = np.where(counts == 0, 0.0, betaincinv(np.maximum(counts, 0.5), totals - counts + 1, tail))
    high = np.where(counts == totals, 1.0, betaincinv(counts + 1, np.maximum(totals - counts, 0.5), 1 - tail))
    return Bounds(low, high)
