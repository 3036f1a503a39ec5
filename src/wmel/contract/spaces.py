"""Action spaces: a box of numbers, or finitely many choices that travel as an integer index."""

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from wmel.arrays import Array, as_like, lookup
from wmel.errors import BadInput, require


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
