"""The contract of environments: pure batched functions of explicit states, with a Box or Finite action space."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np

from wmel.arrays import Array, as_like, lookup
from wmel.contract import old_names
from wmel.contract.criterion import Criterion
from wmel.errors import BadInput, require
from wmel.parts import Meaning
from wmel.randomness import Streams

MaxSteps = Annotated[int, Meaning("largest number of steps of an episode", at_least=1)]


@dataclass(frozen=True, eq=False)
class Box:
    """All vectors between two finite bounds."""

    low: np.ndarray  # [A]
    high: np.ndarray  # [A]

    dtype: ClassVar = np.float32  # of an encoded action

    def __post_init__(self):
        low, high = np.asarray(self.low, np.float32), np.asarray(self.high, np.float32)
        if low.ndim != 1 or low.shape != high.shape or low.size == 0:
            raise BadInput(f"box bounds must be two vectors of one length, got shapes {low.shape} and {high.shape}")
        require(bool(np.isfinite(low).all() and np.isfinite(high).all()), "box bounds must be finite", (low, high))
        require(bool((low < high).all()), "the lower bound must be below the upper one", (low, high))
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def width(self) -> int:
        """Numbers per encoded action (A)."""
        return len(self.low)

    def as_values(self, actions: Array) -> Array:
        """Encoded actions as values for the simulator and the objective: unchanged. [...,A] -> [...,A]"""
        return actions

    def nearest(self, values: np.ndarray) -> np.ndarray:
        """The encoded actions closest to values [B,A]: clipped to the bounds."""
        return values.clip(self.low, self.high).astype(self.dtype)

    def contains(self, actions: np.ndarray) -> Array:
        """Which encoded actions [...,A] are in the space: bool [...]. NaN is never in the space."""
        return ((actions >= self.low) & (actions <= self.high)).all(axis=-1)

    def idle(self, batch: int) -> np.ndarray:
        """Action values [B,A] of zero."""
        return np.zeros((batch, self.width), np.float32)


@dataclass(frozen=True, eq=False)
class Finite:
    """A list of named actions. An action is encoded as its index; its value is a row of `values`.

    Without `values` the index is also the value.
    """

    names: tuple[str, ...]
    values: np.ndarray | None = None  # [count, A]

    dtype: ClassVar = np.int32  # of an encoded action

    def __post_init__(self):
        require(len(self.names) > 0, "a finite action space requires at least one action", self.names)
        if self.values is not None:
            values = np.asarray(self.values, np.float32)
            require(values.ndim == 2, "finite actions require a table [count, A] of values", values.shape)
            require(len(values) == self.count, f"{self.count} named actions require as many values", len(values))
            object.__setattr__(self, "values", values)

    @property
    def count(self) -> int:
        return len(self.names)

    @property
    def width(self) -> int:
        """Numbers per encoded action: one index."""
        return 1

    def as_values(self, actions: Array) -> Array:
        """Encoded actions as values for the simulator and the objective: rows of `values`. [...,1] -> [...,A]"""
        return actions if self.values is None else lookup(as_like(self.values, actions), actions[..., 0])

    def nearest(self, values: np.ndarray) -> np.ndarray:
        """The encoded actions [B,1] with the values closest to values [B,A]."""
        assert self.values is not None, "these actions have no numerical values"
        return abs(values[:, None] - self.values).sum(-1).argmin(1).astype(self.dtype)[:, None]

    def contains(self, actions: np.ndarray) -> Array:
        """Which encoded actions [...,1] are in the space: bool [...]."""
        is_integer = np.issubdtype(actions.dtype, np.integer)
        return is_integer & ((actions >= 0) & (actions < self.count)).all(axis=-1)

    def idle(self, batch: int) -> np.ndarray:
        """Action values [B,A] of zero."""
        return self.as_values(np.zeros((batch, 1), self.dtype)) * 0


Space: TypeAlias = Box | Finite


@dataclass(frozen=True)
class EnvironmentSpec:
    """The properties of an environment that planners, policies and reports use."""

    name: str
    observation: tuple[str, ...]  # names of the O components
    actions: Space
    max_steps: int
    branchable: bool = True  # whether any stored state can be stepped again, as the oracle requires
    idle: np.ndarray | None = None  # encoded action [A] without effect, where there is one
    step_ms: float | None = None  # simulated time of one step, where there is a time scale
    action_repeat: int = 1  # control steps per step
    single_start: bool = False  # whether every episode starts in the same state
    init: str | None = None  # how start states are chosen, where there is a choice: task or fixed
    layout: str | None = None  # drawing of a grid world
    objectives: tuple[str, ...] = ("goal-distance",)  # supported objectives, the default first


class Environment(Protocol):
    """Maps seeds to start states, and states and action values to next states."""

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
        """Named numbers [B] of a step, including `reward` if there is one."""
        ...


@runtime_checkable
class HasStateRollout(Protocol):
    """An environment that computes whole trajectories faster than step by step."""

    def rollout(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """states [M,S], action values [M,H,A] -> states [M,H+1,S], including the start"""
        ...


@runtime_checkable
class Perturbable(Protocol):
    """An environment with its own perturbation of the state."""

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
    """An environment with a finite number of states that it can list."""

    def every_state(self) -> np.ndarray:
        """states [n,S]"""
        ...


@runtime_checkable
class HasRewardFormula(Protocol):
    """An environment whose reward is a formula of the observation after a step and of the action."""

    def reward_of(self, observations: Array, actions: Array) -> Array:
        """observations [...,O], action values [...,A] -> rewards [...]"""
        ...


@runtime_checkable
class Walkable(Protocol):
    """An environment whose finite actions are moves, with a waypoint for paths that an obstacle blocks."""

    def displacements(self) -> np.ndarray:
        """The displacement of each action without obstacles: [count,G]"""
        ...

    def waypoint(self, states: np.ndarray) -> np.ndarray:
        """states [B,S] -> coordinates [B,G] of the waypoint, or of the goal where no waypoint is needed"""
        ...


__getattr__ = old_names(__name__)
