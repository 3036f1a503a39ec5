"""task-reward: the task's own reward, where it is a formula of what is observed and done."""

from collections.abc import Callable
from dataclasses import dataclass, field

from wmel.arrays import Array
from wmel.contract.abilities import able
from wmel.contract.environment import Environment, RewardsObservations
from wmel.contract.objective import Discount, DiscountedSum, Reduction
from wmel.errors import BadInput


@dataclass(frozen=True)
class TaskReward:
    """Minus the reward of every step of the plan."""

    reward_of: Callable[[Array, Array], Array] = field(repr=False)
    reduction: Reduction = field(default_factory=DiscountedSum)
    name: str = "task-reward"

    def costs(self, observations: Array, actions: Array, goals: Array) -> Array:
        return -self.reward_of(observations[:, 1:], actions)


def task_reward(environment: Environment, discount: Discount = 1.0) -> TaskReward:
    """The reward formula of an environment that has one."""
    if not able(environment, RewardsObservations):
        raise BadInput(f"the reward of {environment.spec.name} is no formula of observation and action")
    return TaskReward(environment.reward_of, DiscountedSum(discount))
