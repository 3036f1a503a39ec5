"""An interval for a paired gap that may be looked at after every pair, and stopped on."""

import numpy as np
from scipy.special import betaln, logsumexp

from wmel.errors import BadInput
from wmel.stats.bisection import crossing
from wmel.stats.bounds import Bounds


def confidence_sequence(oracle_only: int, learned_only: int, pairs: int, *, alpha: float = 0.05) -> Bounds:
    """Bounds of p_o - p_l valid at any stopping time: the gaps against which no bet has won 1/alpha times its stake."""
    if not 0 <= oracle_only + learned_only <= pairs or min(oracle_only, learned_only) < 0 or pairs < 1:
        raise BadInput(f"discordant pairs must fit into {pairs} pairs, got {oracle_only} and {learned_only}")
    gap = np.array((oracle_only - learned_only) / pairs)

    def affordable(hypothesis: np.ndarray) -> np.ndarray:
        return np.asarray(-np.log(alpha) - log_wealth(oracle_only, learned_only, pairs, float(hypothesis)))

    edge = 1 - 1e-9
    return Bounds(
        np.where(affordable(np.array(-edge)) >= 0, -1.0, crossing(affordable, gap.clip(-edge, edge), np.array(-edge))),
        np.where(affordable(np.array(edge)) >= 0, 1.0, crossing(affordable, gap.clip(-edge, edge), np.array(edge))),
    )


def log_wealth(oracle_only: int, learned_only: int, pairs: int, hypothesis: float) -> float:
    """Log of the mixture of bets against a gap `hypothesis`, stakes by an arcsine prior over all that cannot go broke.

    The mixture is a polynomial of degree `pairs` in the stake, so Gauss-Chebyshev with pairs//2 + 1 nodes is exact.
    """
    nodes = pairs // 2 + 1
    unit = (1 + np.cos((2 * np.arange(1, nodes + 1) - 1) * np.pi / (2 * nodes))) / 2
    least, most = -1 / (1 - hypothesis), 1 / (1 + hypothesis)
    stake = least + unit * (most - least)
    with np.errstate(divide="ignore"):
        terms = (
            _times(oracle_only, np.log(np.maximum(1 + stake * (1 - hypothesis), 0)))
            + _times(learned_only, np.log(np.maximum(1 - stake * (1 + hypothesis), 0)))
            + _times(pairs - oracle_only - learned_only, np.log(np.maximum(1 - stake * hypothesis, 0)))
        )
    return float(logsumexp(terms) - np.log(nodes))


def log_wealth_at_zero(oracle_only: object, learned_only: object) -> np.ndarray:
    """The same against no gap at all, in closed form; it does not depend on the concordant pairs."""
    b, c = np.asarray(oracle_only, float), np.asarray(learned_only, float)
    return (b + c) * np.log(2) + betaln(b + 0.5, c + 0.5) - betaln(0.5, 0.5)


def _times(count: int, logs: np.ndarray) -> np.ndarray:
    return count * logs if count else np.zeros_like(logs)
