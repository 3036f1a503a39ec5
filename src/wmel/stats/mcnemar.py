"""McNemar's mid-p test of two paired arms."""

import numpy as np
from scipy.special import betainc

from wmel.errors import BadInput
from wmel.stats.finite import finite_numbers


def mcnemar_mid_p(oracle_only: object, learned_only: object) -> np.ndarray:
    """Two-sided probability of so uneven a split of the discordant pairs by a fair coin; 1 where there are none.

    Half of the split itself is counted.
    """
    fewer, more = _counts(oracle_only, learned_only)
    both_tails = _at_most(fewer, fewer + more) + _at_most(fewer - 1, fewer + more)
    return np.where(fewer == more, 1.0, both_tails)


def _at_most(heads: np.ndarray, tosses: np.ndarray) -> np.ndarray:
    """Probability of at most so many heads of a fair coin, by the incomplete beta function: counts stay floats."""
    return np.where(heads < 0, 0.0, betainc(np.maximum(tosses - heads, 0.5), np.maximum(heads, 0) + 1, 0.5))


def _counts(oracle_only: object, learned_only: object) -> tuple[np.ndarray, np.ndarray]:
    one, other = finite_numbers(oracle_only, "discordant counts"), finite_numbers(learned_only, "discordant counts")
    if (one < 0).any() or (other < 0).any():
        raise BadInput(f"discordant counts must not be negative, got {oracle_only!r} and {learned_only!r}")
    return np.minimum(one, other), np.maximum(one, other)
