"""A world model: encode what is perceived, step it under actions, decode it back to observations."""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from wmel.arrays import Array
from wmel.contract.policy import Percept


@dataclass(frozen=True)
class WorldModelSpec:
    """What the loop must know of a model."""

    name: str
    reads: Literal["observation", "state"] = "observation"
    action_input: Literal["index", "one_hot", "value"] = "value"  # what `step` gets when actions are finite
    weights: str | None = None  # hash of what was learned
    rows_at_once: int = 1  # imagined rows are filled up to a multiple of this, so that company changes no bit


class WorldModel(Protocol):
    @property
    def spec(self) -> WorldModelSpec: ...

    def encode(self, percept: Percept, previous: Array | None) -> Array:
        """percept of B episodes, latents [B,Z] one step ago (None at the start) -> latents [B,Z]"""
        ...

    def step(self, latents: Array, actions: Array) -> Array:
        """latents [M,Z], actions [M,A] -> latents [M,Z]"""
        ...

    def decode(self, latents: Array) -> Array:
        """latents [M,Z] -> observations [M,O]"""
        ...


@runtime_checkable
class Imagines(Protocol):
    """What every world model can do; its spec says the rest."""

    def encode(self, percept: Percept, previous: Array | None) -> Array: ...

    def step(self, latents: Array, actions: Array) -> Array: ...

    def decode(self, latents: Array) -> Array: ...


@runtime_checkable
class RewardsItself(Protocol):
    """A model that says what reward it expects."""

    def rewards(self, trajectory: Array, actions: Array) -> Array:
        """latents [M,H+1,Z], the start included, actions [M,H,A] -> rewards of steps 1..H [M,H]"""
        ...


@runtime_checkable
class RollsOut(Protocol):
    """A model that imagines whole action sequences faster than step by step."""

    def rollout(self, latents: Array, actions: Array) -> Array:
        """latents [M,Z], actions [M,H,A] -> latents [M,H+1,Z], the start included"""
        ...


@runtime_checkable
class ActsItself(Protocol):
    """A model with a policy of its own, and with values of what it does."""

    def discount(self) -> float:
        """What a reward one step later is worth to its values."""
        ...

    def policy(self, latents: Array, noise: Array | None) -> Array:
        """latents [M,Z], standard normals [M,A] or None for its best guess -> action values [M,A]"""
        ...

    def action_values(self, latents: Array, actions: Array) -> Array:
        """latents [M,Z], action values [M,A] -> what each of its critics expects [n,M]"""
        ...


@runtime_checkable
class ValuesItself(Protocol):
    """A model that says what return it expects from a latent on."""

    def values(self, latents: Array) -> Array:
        """latents [M,Z] -> values [M]"""
        ...
