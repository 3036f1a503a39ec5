"""An interval for a paired gap that may be looked at after every pair, and stopped on."""

import numpy as np

from wmel.errors import BadInput
from wmel.stats.bisection import crossing
from wmel.stats.bounds import Bounds
from wmel.stats.log_space import log_factorials, log_half_factorials, log_mean_exp, times_log


def confidence_sequence(oracle_only: int, learned_only: int, pairs: int, *, alpha: float = 0.05) -> Bounds:
    """Bounds of p_o - p_l valid at any stopping time: the gaps against which no bet has won 1/alpha times its stake."""
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
    """Refuse counts that do not fit together."""
    if not 0 <= oracle_only + learned_only <= pairs or min(oracle_only, learned_only) < 0 or pairs < 1:
        raise BadInput(f"discordant pairs must fit into {pairs} pairs, got {oracle_only} and {learned_only}")


def log_wealth(oracle_only: object, learned_only: object, pairs: int, hypothesis: float) -> np.ndarray:
    """Log of the mixture of bets against a gap `hypothesis`, stakes by an arcsine prior over all that cannot go broke.

    The mixture is a polynomial of degree `pairs` in the stake, so Gauss-Chebyshev with pairs//2 + 1 nodes is exact.
    """
    b, c = np.asarray(oracle_only)[..., None], np.asarray(learned_only)[..., None]
    nodes = pairs // 2 + 1
    unit = (1 + np.cos((2 * np.arange(1, nodes + 1) - 1) * np.pi / (2 * nodes))) / 2
    least, most = -1 / (1 - hypothesis), 1 / (1 + hypothesis)
    stake = least + unit * (most - least)
    terms = (
        times_log(b, np.maximum(1 + stake * (1 - hypothesis), 0))
        + times_log(c, np.maximum(1 - stake * (1 + hypothesis), 0))
        + times_log(pairs - b - c, np.maximum(1 - stake * hypothesis, 0))
    )
    return log_mean_exp(terms)


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
