"""Which counts of pairs let a confidence sequence decide for equivalence."""

from functools import lru_cache
from math import ceil

import numpy as np

from wmel.stats.bisection import leading
from wmel.stats.confidence_sequence import rules_out_margin


@lru_cache(maxsize=1024)
def equivalent_counts(pairs: int, delta: float, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Every oracle-only and learned-only count [K], [K] that puts the confidence sequence inside (-delta, delta).

    Two pairs that differ in opposite ways earn every bet less than two that agree; so for each lead of one arm there is
    a largest count of the other that still decides.
    """
    lead = np.arange(ceil(delta * pairs))
    allowed = leading(
        lambda rarer: rules_out_margin(rarer + lead, rarer, pairs, delta=delta, alpha=alpha), (pairs - lead) // 2 + 1
    )
    rarer = np.concatenate([np.arange(count) for count in allowed])
    commoner = rarer + np.repeat(lead, allowed)
    mirrored = commoner > rarer
    return np.append(commoner, rarer[mirrored]), np.append(rarer, commoner[mirrored])
