"""The contract of world models: encode a percept to a latent, step the latent under actions, decode observations."""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from wmel.arrays import Array
from wmel.contract import old_names
from wmel.contract.policy import Percept
from wmel.parts import accept_old_names


@accept_old_names(rows_at_once="row_multiple")
@dataclass(frozen=True)
class WorldModelSpec:
    """The properties of a model that the closed loop uses."""

    name: str
    reads: Literal["observation", "state"] = "observation"
    action_input: Literal["index", "one_hot", "value"] = "value"  # how `step` receives finite actions
    weights: str | None = None  # hash of the learned weights
    row_multiple: int = 1  # batches are padded to a multiple of this, so that results do not depend on the batch


class WorldModel(Protocol):
    @property
    def spec(self) -> WorldModelSpec: ...

    def encode(self, percept: Percept, previous: Array | None) -> Array:
        """percept of B episodes, latents [B,Z] of the last step (None at the start) -> latents [B,Z]"""
        ...

    def step(self, latents: Array, actions: Array) -> Array:
        """latents [M,Z], actions [M,A] -> latents [M,Z]"""
        ...

    def decode(self, latents: Array) -> Array:
        """latents [M,Z] -> observations [M,O]"""
        ...


@runtime_checkable
class LatentModel(Protocol):
    """The methods of every world model, to recognise one."""

    def encode(self, percept: Percept, previous: Array | None) -> Array: ...

    def step(self, latents: Array, actions: Array) -> Array: ...

    def decode(self, latents: Array) -> Array: ...


@runtime_checkable
class HasReward(Protocol):
    """A model that predicts rewards."""

    def rewards(self, trajectory: Array, actions: Array) -> Array:
        """latents [M,H+1,Z] including the start, actions [M,H,A] -> rewards of steps 1..H [M,H]"""
        ...


@runtime_checkable
class HasRollout(Protocol):
    """A model that computes whole trajectories faster than step by step."""

    def rollout(self, latents: Array, actions: Array) -> Array:
        """latents [M,Z], actions [M,H,A] -> latents [M,H+1,Z] including the start"""
        ...


@runtime_checkable
class HasPolicy(Protocol):
    """A model with its own policy and action-value functions."""

    def discount(self) -> float:
        """The discount factor of its values."""
        ...

    def policy(self, latents: Array, noise: Array | None) -> Array:
        """latents [M,Z], standard normals [M,A] or None for the mean -> action values [M,A]"""
        ...

    def action_values(self, latents: Array, actions: Array) -> Array:
        """latents [M,Z], action values [M,A] -> estimates of each critic [n,M]"""
        ...


@runtime_checkable
class HasValue(Protocol):
    """A model that predicts the return from a latent."""

    def values(self, latents: Array) -> Array:
        """latents [M,Z] -> values [M]"""
        ...


__getattr__ = old_names(__name__)
