"""Bring your own model, the shortest way: a plain `dynamics(state, action) -> state` on single observations."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wmel.contract.policy import Percept
from wmel.contract.world_model import WorldModelSpec
from wmel.errors import BadModel


@dataclass(frozen=True)
class CallableModel:
    """The state is the observation; every imagined step is one call, so this is for trying things out."""

    dynamics: Callable[..., Any]  # (state [O], action values [A]) -> the next state [O]

    @property
    def spec(self) -> WorldModelSpec:
        return WorldModelSpec(getattr(self.dynamics, "__name__", type(self.dynamics).__name__))

    def encode(self, percept: Percept, previous: np.ndarray | None) -> np.ndarray:
        return percept.observation.astype(np.result_type(percept.observation, np.float32))

    def step(self, latents: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """latents [M,O], action values [M,A] -> latents [M,O], one call of `dynamics` per row."""
        return np.stack([self._next(*row) for row in zip(latents, actions, strict=True)])

    def decode(self, latents: np.ndarray) -> np.ndarray:
        return latents

    def _next(self, state: np.ndarray, action: np.ndarray) -> np.ndarray:
        given = state.copy(), action.copy()
        after = np.asarray(self.dynamics(*given), dtype=state.dtype)
        if not all(
            np.array_equal(left, right, equal_nan=True) for left, right in zip(given, (state, action), strict=True)
        ):
            raise BadModel(f"{self.spec.name} changed the state or action it was given; it must return a new state")
        if after.shape != state.shape:
            raise BadModel(f"{self.spec.name} must return a state of shape {state.shape}, got {after.shape}")
        return after
