"""model-reward: whatever reward the model gives, where it gives one."""

from wmel.contract.environment import Environment
from wmel.contract.objective import Discount, DiscountedSum, ModelReward


def model_reward(environment: Environment, discount: Discount = 1.0) -> ModelReward:
    """The same for every environment."""
    return ModelReward(DiscountedSum(discount))
