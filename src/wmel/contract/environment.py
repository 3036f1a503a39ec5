"""What an environment is: pure, batched, with spaces of actions that are boxes or finite sets."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np

from wmel.arrays import Array, as_like, lookup
from wmel.contract.criterion import Criterion
from wmel.errors import BadInput, require
from wmel.parts import Meaning
from wmel.randomness import Streams

MaxSteps = Annotated[int, Meaning("steps an episode may take", at_least=1)]


@dataclass(frozen=True, eq=False)
class Box:
    """Every vector between two finite bounds."""

    low: np.ndarray  # [A]
    high: np.ndarray  # [A]

    dtype: ClassVar = np.float32  # of an action as it travels

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
        """Numbers per action as it travels (A)."""
        return len(self.low)

    def as_values(self, actions: Array) -> Array:
        """What the simulator and the objective see: here the action itself. [...,A] -> [...,A]"""
        return actions

    def nearest(self, values: np.ndarray) -> np.ndarray:
        """The actions that come nearest to values [B,A], as they travel: cut off at the bounds."""
        return values.clip(self.low, self.high).astype(self.dtype)

    def contains(self, actions: np.ndarray) -> Array:
        """Which actions [...,A] may be executed: bool [...]. NaN is never within bounds."""
        return ((actions >= self.low) & (actions <= self.high)).all(axis=-1)

    def idle(self, batch: int) -> np.ndarray:
        """A batch of all-zero action values [B,A], for when nothing is done."""
        return np.zeros((batch, self.width), np.float32)


@dataclass(frozen=True, eq=False)
class Finite:
    """A list of named choices; an action travels as its index, and acts as its row of `values`.

    Without `values` the index itself is what acts.
    """

    names: tuple[str, ...]
    values: np.ndarray | None = None  # [count, A]

    dtype: ClassVar = np.int32  # of an action as it travels

    def __post_init__(self):
        require(len(self.names) > 0, "a finite action space needs at least one action", self.names)
        if self.values is not None:
            values = np.asarray(self.values, np.float32)
            require(values.ndim == 2, "finite actions need a table [count, A] of values", values.shape)
            require(len(values) == self.count, f"{self.count} named actions need as many values", len(values))
            object.__setattr__(self, "values", values)

    @property
    def count(self) -> int:
        return len(self.names)

    @property
    def width(self) -> int:
        """Numbers per action as it travels: the index alone."""
        return 1

    def as_values(self, actions: Array) -> Array:
        """What the simulator and the objective see: the chosen rows of `values`. [...,1] -> [...,A]"""
        return actions if self.values is None else lookup(as_like(self.values, actions), actions[..., 0])

    def nearest(self, values: np.ndarray) -> np.ndarray:
        """The actions whose values come nearest to values [B,A], as they travel: [B,1]."""
        assert self.values is not None, "these actions are no numbers"
        return abs(values[:, None] - self.values).sum(-1).argmin(1).astype(self.dtype)[:, None]

    def contains(self, actions: np.ndarray) -> Array:
        """Which indices [...,1] may be executed: bool [...]."""
        whole_numbers = np.issubdtype(actions.dtype, np.integer)
        return whole_numbers & ((actions >= 0) & (actions < self.count)).all(axis=-1)

    def idle(self, batch: int) -> np.ndarray:
        """A batch of all-zero action values [B,A], for when nothing is done."""
        return self.as_values(np.zeros((batch, 1), self.dtype)) * 0


Space: TypeAlias = Box | Finite


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
