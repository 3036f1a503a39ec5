"""What planners minimise: each objective is a cost of imagined steps and a way to reduce it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from wmel.arrays import Array, namespace_of
from wmel.contract.environment import Environment, RewardsObservations
from wmel.contract.objective import ActionWeight, ClosestApproach, Discount, DiscountedSum, ModelReward, Reduction
from wmel.errors import BadInput
from wmel.parts import able


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


def with_effort(costs: Array, actions: Array, weight: float) -> Array:
    """Costs of steps [M,H] with the mean square of the actions [M,H,A] added, times a weight."""
    return costs if weight == 0 else costs + weight * (actions * actions).mean(-1)


@dataclass(frozen=True)
class Upright:
    """Minus the sum of some components of the observation: for arms of length one, minus the height of the tip."""

    cosines: tuple[int, ...]
    reduction: Reduction = field(default_factory=ClosestApproach)
    name: str = "upright"
    action_weight: float = 0.0

    def costs(self, observations: Array, actions: Array, goals: Array) -> Array:
        ahead = observations[:, 1:]
        return with_effort(-sum(ahead[:, :, cosine] for cosine in self.cosines), actions, self.action_weight)


@dataclass(frozen=True)
class SmoothUpright:
    """The share of the way to upright that is missing, 0 to 1, at every step of the plan."""

    cosines: tuple[int, ...]
    reduction: Reduction = field(default_factory=DiscountedSum)
    name: str = "smooth-upright"
    action_weight: float = 0.0

    def costs(self, observations: Array, actions: Array, goals: Array) -> Array:
        ahead = observations[:, 1:]
        missing = sum(1 - ahead[:, :, cosine] for cosine in self.cosines) / (2 * len(self.cosines))
        return with_effort(missing, actions, self.action_weight)


def upright(environment: Environment, action_weight: ActionWeight = 0.0) -> Upright:
    """The documents' score of acrobot and cartpole: the highest point along the plan, where it is cut."""
    return Upright(_cosines(environment), action_weight=action_weight)


def smooth_upright(
    environment: Environment, discount: Discount = 1.0, action_weight: ActionWeight = 0.0
) -> SmoothUpright:
    """How upright along the whole plan."""
    return SmoothUpright(_cosines(environment), DiscountedSum(discount), action_weight=action_weight)


def _cosines(environment: Environment) -> tuple[int, ...]:
    found = tuple(k for k, name in enumerate(environment.spec.observation) if name.startswith("cos"))
    if not found:
        raise BadInput(f"{environment.spec.name} observes no cosine of an angle: nothing there can be upright")
    return found


@dataclass(frozen=True)
class TargetDistance:
    """The length of the vector some components of the observation make."""

    towards: tuple[int, ...]
    reduction: Reduction = field(default_factory=ClosestApproach)
    name: str = "target-distance"
    action_weight: float = 0.0

    def costs(self, observations: Array, actions: Array, goals: Array) -> Array:
        ahead = observations[:, 1:]
        distance = namespace_of(observations).sqrt(sum(ahead[:, :, part] ** 2 for part in self.towards))
        return with_effort(distance, actions, self.action_weight)


def target_distance(environment: Environment, action_weight: ActionWeight = 0.0) -> TargetDistance:
    """The documents' score of reacher: the closest point along the plan, where it is cut."""
    towards = tuple(k for k, name in enumerate(environment.spec.observation) if name.startswith("to_target"))
    if not towards:
        raise BadInput(f"{environment.spec.name} observes no vector to a target")
    return TargetDistance(towards, action_weight=action_weight)


@dataclass(frozen=True)
class TaskReward:
    """Minus the reward of every step of the plan."""

    reward_of: Callable[[Array, Array], Array] = field(repr=False)
    reduction: Reduction = field(default_factory=DiscountedSum)
    name: str = "task-reward"
    action_weight: float = 0.0

    def costs(self, observations: Array, actions: Array, goals: Array) -> Array:
        return with_effort(-self.reward_of(observations[:, 1:], actions), actions, self.action_weight)


def task_reward(environment: Environment, discount: Discount = 1.0, action_weight: ActionWeight = 0.0) -> TaskReward:
    """The reward formula of an environment that has one."""
    if not able(environment, RewardsObservations):
        raise BadInput(f"the reward of {environment.spec.name} is no formula of observation and action")
    return TaskReward(environment.reward_of, DiscountedSum(discount), action_weight=action_weight)


def model_reward(environment: Environment, discount: Discount = 1.0) -> ModelReward:
    """The same for every environment."""
    return ModelReward(DiscountedSum(discount))
