"""McNemar's test of two paired arms: exact, and mid-p."""

import numpy as np
from scipy.special import bdtr, gammaln

from wmel.errors import BadInput


def mcnemar_exact(oracle_only: object, learned_only: object) -> np.ndarray:
    """Two-sided probability of so uneven a split of the discordant pairs by a fair coin; 1 where there are none."""
    fewer, discordant = _counts(oracle_only, learned_only)
    return np.minimum(1.0, 2 * bdtr(fewer, discordant, 0.5))


def mcnemar_mid_p(oracle_only: object, learned_only: object) -> np.ndarray:
    """The same counting only half of the split itself: less conservative, and the default beside a paired gap."""
    fewer, discordant = _counts(oracle_only, learned_only)
    return np.minimum(1.0, 2 * bdtr(fewer, discordant, 0.5) - _point(fewer, discordant))


def _point(successes: np.ndarray, trials: np.ndarray) -> np.ndarray:
    """Probability of exactly so many heads, without overflow at any count."""
    ways = gammaln(trials + 1) - gammaln(successes + 1) - gammaln(trials - successes + 1)
    return np.exp(ways - trials * np.log(2.0))


def _counts(oracle_only: object, learned_only: object) -> tuple[np.ndarray, np.ndarray]:
    one, other = np.asarray(oracle_only, float), np.asarray(learned_only, float)
    if not (np.isfinite(one).all() and np.isfinite(other).all()) or (one < 0).any() or (other < 0).any():
        raise BadInput(f"discordant counts must not be negative, got {oracle_only!r} and {learned_only!r}")
    return np.minimum(one, other), np.asarray(one + other, np.int64)
