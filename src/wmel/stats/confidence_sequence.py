"""An interval for a paired gap that may be looked at after every pair, and stopped on."""

import numpy as np

from wmel.errors import BadInput, require_share, require_whole
from wmel.stats.bisection import crossing
from wmel.stats.bounds import Bounds
from wmel.stats.log_space import log_factorials, log_half_factorials, log_mean_exp


def confidence_sequence(oracle_only: int, learned_only: int, pairs: int, *, alpha: float = 0.05) -> Bounds:
    """Bounds of p_o - p_l valid at any stopping time: the gaps against which no bet has won 1/alpha times its stake."""
    require_share(alpha, "alpha")
    check_discordant(oracle_only, learned_only, pairs)
    gap = np.array((oracle_only - learned_only) / pairs)

    def affordable(hypothesis: np.ndarray) -> np.ndarray:
        return np.asarray(-np.log(alpha) - log_wealth(oracle_only, learned_only, pairs, float(hypothesis)))

    edge = 1 - 1e-9
    return Bounds(
        np.where(affordable(np.array(-edge)) >= 0, -1.0, crossing(affordable, gap.clip(-edge, edge), np.array(-edge))),
        np.where(affordable(np.array(edge)) >= 0, 1.0, crossing(affordable, gap.clip(-edge, edge), np.array(edge))),
    )


def check_discordant(oracle_only: int, learned_only: int, pairs: int) -> None:
    """Refuse counts that are none, or do not fit together."""
    for count, what in ((oracle_only, "oracle-only pairs"), (learned_only, "learned-only pairs"), (pairs, "pairs")):
        require_whole(count, f"the number of {what}", at_least=0)
    if oracle_only + learned_only > pairs or pairs < 1:
        raise BadInput(f"discordant pairs must fit into {pairs} pairs, got {oracle_only} and {learned_only}")


def log_wealth(oracle_only: object, learned_only: object, pairs: int, hypothesis: float) -> np.ndarray:
    """Log of the mixture of bets against a gap `hypothesis`, stakes by an arcsine prior over all that cannot go broke.

    The mixture is a polynomial of degree `pairs` in the stake, so Gauss-Chebyshev with pairs//2 + 1 nodes is exact.
    """
    b, c = np.asarray(oracle_only), np.asarray(learned_only)
    nodes = pairs // 2 + 1
    angle = (2 * np.arange(1, nodes + 1) - 1) * np.pi / (4 * nodes)
    towards_most, towards_least = np.cos(angle) ** 2, np.sin(angle) ** 2  # how far a stake is from either bound
    up, down = 1 + hypothesis, 1 - hypothesis
    growth = np.log([2 * towards_most / up, 2 * towards_least / down, towards_most / up + towards_least / down])
    counts = np.stack(np.broadcast_arrays(b, c, pairs - b - c), axis=-1).astype(float)
    return log_mean_exp(counts @ growth)


def log_wealth_at_zero(oracle_only: object, learned_only: object) -> np.ndarray:
    """The same against no gap at all, in closed form; it does not depend on the concordant pairs."""
    b, c = np.asarray(oracle_only), np.asarray(learned_only)
    most = int(np.max(b)) + int(np.max(c))
    halves, factorials = log_half_factorials(most), log_factorials(most)
    return (b + c) * np.log(2) + halves[b] + halves[c] - factorials[b + c]


def rules_out_margin(
    oracle_only: object, learned_only: object, pairs: int, *, delta: float, alpha: float
) -> np.ndarray:
    """Whether the confidence sequence lies inside (-delta, delta): bets against both margins have won."""
    seen = (np.asarray(oracle_only) - np.asarray(learned_only)) / pairs
    won = [log_wealth(oracle_only, learned_only, pairs, margin) > -np.log(alpha) for margin in (-delta, delta)]
    return (np.abs(seen) < delta) & won[0] & won[1]
