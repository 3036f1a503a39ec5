"""A model from a pair of functions: the next latent, and the reward."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from wmel.arrays import Array, copy_array
from wmel.contract.policy import Percept
from wmel.contract.world_model import WorldModelSpec
from wmel.errors import BadInput, BadModel, require


@dataclass(frozen=True, eq=False)
class PairModel:
    """A model from the batched functions `next(z, a)` and `reward(z, a)`. The latent is the observation.

    The function `value(z)` is optional. The arguments are torch tensors on `device`, or numpy arrays if `library` is
    "numpy".
    """

    next: Callable[[Array, Array], Array]  # latents [M,Z], actions [M,A] -> latents [M,Z]
    reward: Callable[[Array, Array], Array]  # latents [M,Z], actions [M,A] -> [M]
    value: Callable[[Array], Array] | None = None  # latents [M,Z] -> [M]
    name: str = "pair"
    library: Literal["torch", "numpy"] = "torch"
    device: str = "cpu"

    def __post_init__(self):
        require(self.library in ("torch", "numpy"), "library must be 'torch' or 'numpy'", self.library)

    @property
    def spec(self) -> WorldModelSpec:
        return WorldModelSpec(self.name)

    def encode(self, percept: Percept, previous: Array | None) -> Array:
        if self.library == "numpy":
            return np.asarray(percept.observation, np.float64)
        return torch.as_tensor(percept.observation, dtype=torch.float32, device=self.device)

    def step(self, latents: Array, actions: Array) -> Array:
        return self.next(copy_array(latents), actions)  # the function may change its argument

    def decode(self, latents: Array) -> Array:
        return latents

    def rewards(self, trajectory: Array, actions: Array) -> Array:
        """latents [M,H+1,Z], actions [M,H,A] -> rewards [M,H] of each latent and the action taken in it"""
        rows, horizon = actions.shape[:2]
        before = trajectory[:, :-1].reshape(rows * horizon, -1)
        rewards = self.reward(before, actions.reshape(rows * horizon, -1))
        return self._check_shape(rewards, rows * horizon, "reward").reshape(rows, horizon)

    def values(self, latents: Array) -> Array:
        if self.value is None:
            raise BadInput(f"{self.name} has no value function")
        return self._check_shape(self.value(latents), len(latents), "value")

    def _check_shape(self, numbers: Array, rows: int, what: str) -> Array:
        shape = tuple(getattr(numbers, "shape", ()))
        if shape != (rows,):
            raise BadModel(f"the {what} of {self.name} must be one number per row, shape {(rows,)}, got {shape}")
        return numbers
