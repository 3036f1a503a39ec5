"""Whether it is worth going on: the chance that a run of pairs still decides before its last allowed pair."""

from functools import lru_cache

import numpy as np

from wmel.errors import require_whole
from wmel.stats.confidence_sequence import log_wealth_at_zero, rules_out_margin

FIRST_LOOK, EVERY = 30, 10
HOPELESS = 0.05
PRIOR = 0.5  # Jeffreys: half a pair of each kind seen before the first


def is_look(pairs: int) -> bool:
    """Whether a run considers giving up after this many pairs."""
    return pairs >= FIRST_LOOK and pairs % EVERY == 0


def chance_of_deciding(
    oracle_only: int, learned_only: int, pairs: int, *, cap: int, delta: float = 0.10, alpha: float = 0.05
) -> float:
    """Predictive probability that the confidence sequence decides by pair `cap`, after a look at these counts."""
    require_whole(cap, "the cap")
    at_look = pairs - pairs % EVERY if pairs < cap else cap
    return float(chances(cap, delta, alpha)[at_look][oracle_only, learned_only])


@lru_cache(maxsize=4)
def chances(cap: int, delta: float, alpha: float) -> dict[int, np.ndarray]:
    """For every look up to `cap`: that probability [oracle-only, learned-only], by going back from the last pair.

    The next pair is of each kind with its posterior mean, so the recursion is exact. A gap is looked for at every pair,
    equivalence at every tenth.
    """
    counts = np.arange(cap + 1)
    b, c = counts[:, None], counts[None, :]
    gap = log_wealth_at_zero(b, c) > -np.log(alpha)
    chance, looks = np.where(gap, 1.0, 0.0), {}
    for pairs in range(cap, -1, -1):
        if pairs < cap:
            more_b = np.pad(chance[1:], ((0, 1), (0, 0)))
            more_c = np.pad(chance[:, 1:], ((0, 0), (0, 1)))
            of_b, of_c = (b + PRIOR) / (pairs + 3 * PRIOR), (c + PRIOR) / (pairs + 3 * PRIOR)
            chance = np.where(gap, 1.0, of_b * more_b + of_c * more_c + np.maximum(1 - of_b - of_c, 0) * chance)
        if pairs % EVERY == 0 or pairs == cap:
            chance[_equivalent(pairs, cap, delta, alpha)] = 1.0
            looks[pairs] = chance.copy()
    return looks


def _equivalent(pairs: int, cap: int, delta: float, alpha: float) -> np.ndarray:
    """Which counts [cap+1, cap+1] of this many pairs decide for equivalence."""
    counts, decided = np.arange(cap + 1), np.zeros((cap + 1, cap + 1), bool)
    b, c = np.nonzero(
        (counts[:, None] + counts <= pairs) & (np.abs(counts[:, None] - counts) < delta * max(pairs, 1e-9))
    )
    if pairs and len(b):
        decided[b, c] = rules_out_margin(b, c, pairs, delta=delta, alpha=alpha)
    return decided
