"""The environment is a function: pure, batched, owning no episode."""

from dataclasses import dataclass
from typing import Annotated, Protocol, runtime_checkable

import numpy as np

from wmel.arrays import Array
from wmel.contract.criterion import Criterion
from wmel.contract.spaces import Space
from wmel.parts import Meaning
from wmel.randomness import Streams

MaxSteps = Annotated[int, Meaning("steps an episode may take", at_least=1)]


@dataclass(frozen=True)
class EnvironmentSpec:
    """What a planner, a policy or a report may know of an environment."""

    name: str
    observation: tuple[str, ...]  # the name of each component (O of them)
    actions: Space
    max_steps: int
    branchable: bool = True  # any state can be stepped again: an oracle arm exists
    idle: np.ndarray | None = None  # the action [A], as it travels, that does nothing, where there is one
    step_ms: float | None = None  # time one step stands for, where it stands for time
    action_repeat: int = 1  # control steps one step is made of
    single_start: bool = False  # every episode starts in the same state
    init: str | None = None  # how starts are chosen, where there is a choice: task or fixed
    layout: str | None = None  # the drawing of a grid world
    objectives: tuple[str, ...] = ("goal-distance",)  # what a planner may minimise here, the default first


class Environment(Protocol):
    """Start states from seeds, next states from states and action values."""

    @property
    def spec(self) -> EnvironmentSpec: ...

    @property
    def default_criterion(self) -> Criterion | None: ...

    def reset(self, seeds: np.ndarray) -> np.ndarray:
        """seeds [B] -> states [B,S]"""
        ...

    def step(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """states [B,S], action values [B,A] -> states [B,S]"""
        ...

    def observe(self, states: np.ndarray) -> np.ndarray:
        """states [B,S] -> observations [B,O]"""
        ...

    def goals(self, states: np.ndarray) -> np.ndarray:
        """states [B,S] -> goals [B,G]"""
        ...

    def quantities(self, states: np.ndarray, actions: np.ndarray, next_states: np.ndarray) -> dict[str, np.ndarray]:
        """Named numbers [B] of a step, `reward` among them where there is one."""
        ...


@runtime_checkable
class RollsStates(Protocol):
    """An environment that steps whole action sequences faster than one by one."""

    def rollout(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """states [M,S], action values [M,H,A] -> states [M,H+1,S], the start included"""
        ...


@runtime_checkable
class Perturbable(Protocol):
    """An environment with something of its own that can happen to its state."""

    def perturb(self, states: np.ndarray, streams: Streams) -> np.ndarray:
        """states [B,S] -> states [B,S]"""
        ...


@runtime_checkable
class Recoverable(Protocol):
    """An environment whose observation determines its state."""

    def recover(self, observations: np.ndarray) -> np.ndarray:
        """observations [B,O] -> states [B,S]"""
        ...


@runtime_checkable
class Enumerable(Protocol):
    """An environment with so few states that all of them can be tried."""

    def every_state(self) -> np.ndarray:
        """states [n,S]"""
        ...


@runtime_checkable
class RewardsObservations(Protocol):
    """An environment whose reward is a formula of what is observed after a step and of the action."""

    def reward_of(self, observations: Array, actions: Array) -> Array:
        """observations [...,O], action values [...,A] -> rewards [...]"""
        ...


@runtime_checkable
class Walkable(Protocol):
    """An environment whose finite actions are moves, and which knows where to head when the straight way is blocked."""

    def displacements(self) -> np.ndarray:
        """How each action would move the agent if nothing were in the way: [count,G]"""
        ...

    def waypoint(self, states: np.ndarray) -> np.ndarray:
        """states [B,S] -> goal coordinates [B,G]; the goal itself where nothing is in between"""
        ...
