"""Pooling seeds: what may be claimed of these checkpoints, and what of the recipe that trains them."""

from collections.abc import Sequence

import numpy as np

from wmel.errors import BadInput
from wmel.stats.difference import t_quantile
from wmel.stats.estimate import Estimate


def recipe_interval(gaps: object, episodes: Estimate, *, confidence: float = 0.95) -> Estimate:
    """The gap of a training recipe from one gap per retrained seed [K]: the wider of episode level and t over seeds."""
    per_seed = np.asarray(gaps, float)
    if per_seed.ndim != 1 or per_seed.size < 2:
        raise BadInput(f"a claim about a training recipe needs at least two retrained seeds, got {per_seed.size}")
    if not np.isfinite(per_seed).all():
        raise BadInput("gaps must be finite numbers; got NaN or infinity among them")
    if episodes.low is None or episodes.high is None:
        raise BadInput("a claim about a training recipe needs the interval of the pooled episodes beside it")
    centre = float(per_seed.mean())
    half = t_quantile(per_seed.size - 1, confidence) * float(per_seed.std(ddof=1)) / per_seed.size**0.5
    if 2 * half >= episodes.high - episodes.low:
        return Estimate(centre, centre - half, centre + half, per_seed.size, "t over seeds")
    return Estimate(centre, episodes.low, episodes.high, per_seed.size, f"{episodes.method}, wider than t over seeds")


def check_equal_shares(oracle: Sequence[int], learned: Sequence[int]) -> None:
    """Refuse to pool strata whose share of episodes differs between the arms: the pooled gap would be their mix."""
    one, other = np.asarray(oracle, float), np.asarray(learned, float)
    if one.shape != other.shape or one.size == 0:
        raise BadInput(f"both arms need the same strata, got {one.size} and {other.size}")
    if not np.allclose(one / one.sum(), other / other.sum(), rtol=1e-9):
        raise BadInput(
            f"strata have unequal shares in the two arms ({list(oracle)} v {list(learned)} episodes): "
            "run equal shares, or compare stratum by stratum"
        )
