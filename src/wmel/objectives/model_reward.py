"""model-reward: whatever reward the model gives, where it gives one."""

from wmel.contract.environment import Environment
from wmel.contract.objective import ModelReward


def model_reward(environment: Environment) -> ModelReward:
    """The same for every environment."""
    return ModelReward()
