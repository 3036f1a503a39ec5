"""goal-distance: how far the imagined observation is from the goal."""

from dataclasses import dataclass, field

from wmel.arrays import Array
from wmel.contract.environment import Environment
from wmel.contract.objective import ClosestApproach, Reduction


@dataclass(frozen=True)
class GoalDistance:
    """Manhattan distance between the first G components of the observation and the goal."""

    reduction: Reduction = field(default_factory=ClosestApproach)
    name: str = "goal-distance"

    def costs(self, observations: Array, actions: Array, goals: Array) -> Array:
        ahead = observations[:, 1:]
        distance = abs(ahead[:, :, 0] - goals[:, None, 0])
        for axis in range(1, goals.shape[1]):  # one coordinate at a time: numpy sums a short last axis slowly
            distance += abs(ahead[:, :, axis] - goals[:, None, axis])
        return distance


def goal_distance(environment: Environment) -> GoalDistance:
    """The documents' score of the grid worlds."""
    return GoalDistance()
