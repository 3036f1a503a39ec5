"""From the cost of each step to one value per candidate, and how much of the candidate is worth executing."""

from wmel.arrays import Array, namespace_of
from wmel.contract.objective import ClosestApproach, Reduction
from wmel.contract.planner import CandidateCosts


def reduced(reduction: Reduction, costs: Array) -> CandidateCosts:
    """Step costs [M,H] -> values [M] and lengths [M]."""
    if isinstance(reduction, ClosestApproach):
        return closest_approach(costs)
    return discounted_sum(costs, reduction.rate)


def closest_approach(costs: Array) -> CandidateCosts:
    """The lowest step cost, cut where it is first reached; the whole plan where the last step reaches it too."""
    xp = namespace_of(costs)
    by_step = costs.swapaxes(0, 1)
    lowest = xp.amin(by_step, axis=0)
    above = by_step != lowest
    steps = xp.arange(1, len(by_step) + 1, dtype=xp.int32, device=costs.device)
    earliest = xp.amin(above * (steps[-1] - 1) + steps[:, None], axis=0)  # steps above the lowest cost are put last
    return CandidateCosts(lowest, xp.where(above[-1], earliest, steps[-1]))


def discounted_sum(costs: Array, rate: float) -> CandidateCosts:
    """All step costs, each step worth `rate` times the one before."""
    xp = namespace_of(costs)
    total, weight = xp.zeros_like(costs[:, 0]), 1.0
    for step in range(costs.shape[1]):
        total = total + weight * costs[:, step]
        weight *= rate
    return CandidateCosts(total, xp.full_like(total, costs.shape[1], dtype=xp.int64))
