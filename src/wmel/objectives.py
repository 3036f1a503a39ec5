"""Objectives that planners minimise: a cost of each imagined step, and a reduction of the costs to one number."""

from collections.abc import Callable
from dataclasses import dataclass, field

from wmel.arrays import Array, namespace_of
from wmel.contract.environment import Environment, HasRewardFormula
from wmel.contract.objective import ActionWeight, ClosestApproach, Discount, DiscountedSum, ModelReward, Reduction
from wmel.errors import BadInput
from wmel.parts import implements


@dataclass(frozen=True)
class GoalDistance:
    """Manhattan distance between the first G components of the observation and the goal."""

    reduction: Reduction = field(default_factory=ClosestApproach)
    name: str = "goal-distance"

    def costs(self, observations: Array, actions: Array, goals: Array) -> Array:
        ahead = observations[:, 1:]
        distance = abs(ahead[:, :, 0] - goals[:, None, 0])
        for axis in range(1, goals.shape[1]):  # by axis: numpy sums a short last axis slowly
            distance += abs(ahead[:, :, axis] - goals[:, None, axis])
        return distance


def goal_distance(environment: Environment) -> GoalDistance:
    """The objective of the grid worlds in the CPG paper."""
    return GoalDistance()


def add_action_cost(costs: Array, actions: Array, weight: float) -> Array:
    """Step costs [M,H] plus the weighted mean square of the actions [M,H,A]."""
    return costs if weight == 0 else costs + weight * (actions * actions).mean(-1)


@dataclass(frozen=True)
class Upright:
    """Minus the sum of the given components of the observation: minus the height of the tip of arms of length one."""

    cosines: tuple[int, ...]
    reduction: Reduction = field(default_factory=ClosestApproach)
    name: str = "upright"
    action_weight: float = 0.0

    def costs(self, observations: Array, actions: Array, goals: Array) -> Array:
        ahead = observations[:, 1:]
        return add_action_cost(-sum(ahead[:, :, cosine] for cosine in self.cosines), actions, self.action_weight)


@dataclass(frozen=True)
class SmoothUpright:
    """The distance from upright as a share of its range, in [0, 1]."""

    cosines: tuple[int, ...]
    reduction: Reduction = field(default_factory=DiscountedSum)
    name: str = "smooth-upright"
    action_weight: float = 0.0

    def costs(self, observations: Array, actions: Array, goals: Array) -> Array:
        ahead = observations[:, 1:]
        distance = sum(1 - ahead[:, :, cosine] for cosine in self.cosines) / (2 * len(self.cosines))
        return add_action_cost(distance, actions, self.action_weight)


def upright(environment: Environment, action_weight: ActionWeight = 0.0) -> Upright:
    """The objective of acrobot and cartpole in the CPG paper. The plan is cut at its highest point."""
    return Upright(_cosines(environment), action_weight=action_weight)


def smooth_upright(
    environment: Environment, discount: Discount = 1.0, action_weight: ActionWeight = 0.0
) -> SmoothUpright:
    """The distance from upright, summed over the whole plan."""
    return SmoothUpright(_cosines(environment), DiscountedSum(discount), action_weight=action_weight)


def _cosines(environment: Environment) -> tuple[int, ...]:
    found = tuple(k for k, name in enumerate(environment.spec.observation) if name.startswith("cos"))
    if not found:
        raise BadInput(f"{environment.spec.name} observes no cosine of an angle, so 'upright' is undefined there")
    return found


@dataclass(frozen=True)
class TargetDistance:
    """The norm of the given components of the observation."""

    to_target: tuple[int, ...]
    reduction: Reduction = field(default_factory=ClosestApproach)
    name: str = "target-distance"
    action_weight: float = 0.0

    def costs(self, observations: Array, actions: Array, goals: Array) -> Array:
        ahead = observations[:, 1:]
        distance = namespace_of(observations).sqrt(sum(ahead[:, :, part] ** 2 for part in self.to_target))
        return add_action_cost(distance, actions, self.action_weight)


def target_distance(environment: Environment, action_weight: ActionWeight = 0.0) -> TargetDistance:
    """The objective of reacher in the wmel 0.18 repository. The plan is cut at its closest point."""
    to_target = tuple(k for k, name in enumerate(environment.spec.observation) if name.startswith("to_target"))
    if not to_target:
        raise BadInput(f"{environment.spec.name} observes no vector to a target")
    return TargetDistance(to_target, action_weight=action_weight)


@dataclass(frozen=True)
class TaskReward:
    """Minus the reward of each step."""

    reward_of: Callable[[Array, Array], Array] = field(repr=False)
    reduction: Reduction = field(default_factory=DiscountedSum)
    name: str = "task-reward"
    action_weight: float = 0.0

    def costs(self, observations: Array, actions: Array, goals: Array) -> Array:
        return add_action_cost(-self.reward_of(observations[:, 1:], actions), actions, self.action_weight)


def task_reward(environment: Environment, discount: Discount = 1.0, action_weight: ActionWeight = 0.0) -> TaskReward:
    """The reward formula of an environment. Raises BadInput if it has none."""
    if not implements(environment, HasRewardFormula):
        raise BadInput(f"the reward of {environment.spec.name} is not a formula of observation and action")
    return TaskReward(environment.reward_of, DiscountedSum(discount), action_weight=action_weight)


def model_reward(environment: Environment, discount: Discount = 1.0) -> ModelReward:
    """The reward that the model predicts, in any environment."""
    return ModelReward(DiscountedSum(discount))
