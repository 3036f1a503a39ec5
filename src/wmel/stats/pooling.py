"""Pooling seeds: what may be claimed of these checkpoints, and what of the recipe that trains them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wmel.errors import BadInput
from wmel.stats.difference import t_quantile
from wmel.stats.estimate import Estimate
from wmel.stats.finite import finite_numbers


def recipe_interval(gaps: object, episodes: Estimate, *, confidence: float = 0.95) -> Estimate:
    """The gap of a training recipe from one gap per retrained seed [K] and the pooled estimate of their episodes.

    The interval is the wider of the episodes' own and t over seeds about the pooled gap.
    """
    per_seed = finite_numbers(gaps, "the gaps of seeds")
    if per_seed.ndim != 1 or per_seed.size < 2:
        raise BadInput(f"a claim about a training recipe needs at least two retrained seeds, got {per_seed.size}")
    if episodes.value is None or episodes.low is None or episodes.high is None:
        raise BadInput("a claim about a training recipe needs the interval of the pooled episodes beside it")
    half = t_quantile(per_seed.size - 1, confidence) * float(per_seed.std(ddof=1)) / per_seed.size**0.5
    if 2 * half >= episodes.high - episodes.low:
        return Estimate(episodes.value, episodes.value - half, episodes.value + half, per_seed.size, "t over seeds")
    return replace(episodes, n=per_seed.size, method=f"{episodes.method}, wider than t over seeds")


def check_equal_shares(oracle: Sequence[int], learned: Sequence[int]) -> None:
    """Refuse to pool strata whose share of episodes differs between the arms: the pooled gap would be their mix."""
    one, other = (finite_numbers(counts, "episodes per stratum") for counts in (oracle, learned))
    if one.ndim != 1 or one.shape != other.shape or one.size == 0:
        raise BadInput(f"both arms need the same strata, got {one.size} and {other.size}")
    if (one < 1).any() or (other < 1).any():
        raise BadInput(f"every stratum needs at least one episode in each arm, got {list(oracle)} v {list(learned)}")
    if not np.allclose(one / one.sum(), other / other.sum(), rtol=1e-9):
        raise BadInput(
            f"strata have unequal shares in the two arms ({list(oracle)} v {list(learned)} episodes): "
            "run equal shares, or compare stratum by stratum"
        )
