"""The oracle: the true dynamics of the environment as a world model."""

from dataclasses import dataclass

import numpy as np

from wmel.contract.environment import Environment, HasStateRollout
from wmel.contract.policy import Percept
from wmel.contract.world_model import WorldModelSpec
from wmel.errors import BadInput
from wmel.models.imagine import isolate_step, rollout_by_steps
from wmel.parts import implements


@dataclass(frozen=True)
class Oracle:
    """The environment as a model, whose latents are the true states."""

    environment: Environment

    def __post_init__(self):
        if not self.environment.spec.branchable:
            raise BadInput(f"{self.environment.spec.name} cannot be stepped from a stored state: it has no oracle")

    @property
    def spec(self) -> WorldModelSpec:
        return WorldModelSpec("oracle", reads="state", action_input="value")

    def encode(self, percept: Percept, previous: np.ndarray | None) -> np.ndarray:
        if percept.state is None:
            raise BadInput("the oracle reads the true state, which is missing in the percept")
        return percept.state

    def step(self, latents: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return self.environment.step(latents, actions)

    def decode(self, latents: np.ndarray) -> np.ndarray:
        return self.environment.observe(latents)

    def rewards(self, trajectory: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """The environment's reward of every imagined step."""
        by_step = trajectory.swapaxes(0, 1)
        before, after = (part.reshape(-1, trajectory.shape[-1]) for part in (by_step[:-1], by_step[1:]))
        values = actions.swapaxes(0, 1).reshape(len(after), -1)
        quantities = self.environment.quantities(before, values, after)
        if "reward" not in quantities:
            raise BadInput(f"{self.environment.spec.name} has no reward; choose another objective")
        return quantities["reward"].reshape(by_step.shape[0] - 1, -1).T

    def rollout(self, latents: np.ndarray, actions: np.ndarray) -> np.ndarray:
        if implements(self.environment, HasStateRollout):
            return self.environment.rollout(latents, actions)
        return rollout_by_steps(isolate_step(self.environment.step), latents, actions)
