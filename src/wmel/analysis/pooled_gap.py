"""The gap over several retrained seeds: of these checkpoints, and of the recipe that trains them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wmel.analysis.cpg import CPGResult, counterfactual_planning_gap
from wmel.errors import BadInput
from wmel.stats.estimate import Estimate
from wmel.stats.pairs import PairedCounts
from wmel.stats.pooling import check_equal_shares, recipe_interval


@dataclass(frozen=True)
class PooledGap:
    """Two claims from the same episodes; only the second says what another training run would give."""

    these_checkpoints: Estimate  # n counts episodes per arm
    this_training_recipe: Estimate  # n counts seeds


def pooled_gap(seeds: Sequence[tuple[Any, Any]], *, apart_from: tuple[str, ...] = ()) -> PooledGap:
    """Both claims from (oracle, learned) per retrained seed, each arm as `counterfactual_planning_gap` takes it.

    One model run on several sets of start states is one checkpoint: pool its tables before, and give them as one seed.
    """
    try:
        arms = [(oracle, learned) for oracle, learned in seeds]
    except (TypeError, ValueError):
        raise BadInput("pooled seeds are a list with one (oracle, learned) for each retrained seed") from None
    if not arms:
        raise BadInput("a claim about a training recipe needs at least two retrained seeds, got none")
    results = [counterfactual_planning_gap(oracle, learned, apart_from=apart_from) for oracle, learned in arms]
    check_equal_shares([one.n_episodes_oracle for one in results], [one.n_episodes_learned for one in results])
    episodes = _pooled(results).gap
    recipe = recipe_interval([one.raw_gap for one in results], episodes)
    return PooledGap(
        replace(episodes, method=f"these checkpoints: {episodes.method}"),
        replace(recipe, method=f"this training recipe: {recipe.method}"),
    )


def _pooled(results: list[CPGResult]) -> CPGResult:
    """All episodes as one comparison; paired where every seed is."""
    pairs = [one.pairs for one in results if one.pairs is not None]
    cells = ("both", "oracle_only", "learned_only", "neither")
    summed = (np.sum([getattr(one, cell) for one in pairs]) for cell in cells)
    return CPGResult(
        sum(one.oracle_successes for one in results),
        sum(one.n_episodes_oracle for one in results),
        sum(one.learned_successes for one in results),
        sum(one.n_episodes_learned for one in results),
        PairedCounts(*summed) if len(pairs) == len(results) else None,
    )
