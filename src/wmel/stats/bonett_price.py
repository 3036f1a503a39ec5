"""Bonett and Price's closed form for a difference of paired proportions."""

import numpy as np

from wmel.stats.bounds import Bounds
from wmel.stats.normal import two_sided
from wmel.stats.pairs import PairedCounts


def bonett_price(pairs: PairedCounts, *, confidence: float = 0.95) -> Bounds:
    """Bounds of p_o - p_l with one pair of each discordant kind added."""
    b, c = (pairs.oracle_only + 1) / (pairs.n + 2), (pairs.learned_only + 1) / (pairs.n + 2)
    half = two_sided(confidence) * np.sqrt((b + c - (b - c) ** 2) / (pairs.n + 2))
    return Bounds(np.maximum(b - c - half, -1), np.minimum(b - c + half, 1))
