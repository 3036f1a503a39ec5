"""Whether it is worth going on: the chance that a run of pairs still decides before its last allowed pair."""

from functools import lru_cache

import numpy as np

from wmel.errors import require, require_share, require_whole
from wmel.stats.confidence_sequence import check_discordant, log_wealth_at_zero
from wmel.stats.equivalence_region import equivalent_counts

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
    require_share(delta, "delta")
    require_share(alpha, "alpha")
    check_discordant(oracle_only, learned_only, pairs)
    require(
        is_look(pairs) and pairs < cap,
        f"giving up is considered every tenth pair from 30 to below the cap {cap}",
        pairs,
    )
    return float(chances(cap, delta, alpha)[pairs][oracle_only, learned_only])


@lru_cache(maxsize=4)
def chances(cap: int, delta: float, alpha: float) -> dict[int, np.ndarray]:
    """For every look below `cap`: that probability [oracle-only, learned-only], by going back from the last pair.

    The next pair is of each kind with its posterior mean, so the recursion is exact.
    """
    b, c = np.ogrid[: cap + 1, : cap + 1]
    gap = log_wealth_at_zero(b, c) > -np.log(alpha)
    chance, looks = np.zeros((cap + 1, cap + 1)), {}
    for pairs in range(cap, FIRST_LOOK - 1, -1):
        if pairs < cap:
            more_b = np.pad(chance[1:], ((0, 1), (0, 0)))
            more_c = np.pad(chance[:, 1:], ((0, 0), (0, 1)))
            of_b, of_c = (b + PRIOR) / (pairs + 3 * PRIOR), (c + PRIOR) / (pairs + 3 * PRIOR)
            chance = of_b * more_b + of_c * more_c + np.maximum(1 - of_b - of_c, 0) * chance
        chance[gap] = 1.0
        chance[equivalent_counts(pairs, delta, alpha)] = 1.0
        if is_look(pairs) and pairs < cap:
            looks[pairs] = chance.copy()
    return looks
