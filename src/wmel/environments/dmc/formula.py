"""Tasks whose observation and reward are formulas of the state, and dm_control's tolerance."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from wmel.arrays import Array, namespace_of

Falling = Literal["gaussian", "linear", "quadratic"]


def tolerance(
    numbers: Array,
    low: float = 0.0,
    high: float = 0.0,
    margin: float = 0.0,
    falling: Falling = "gaussian",
    at_margin: float = 0.1,
) -> Array:
    """numbers [...] -> rewards [...]; `at_margin` is the reward a margin away from the bounds."""
    xp = namespace_of(numbers)
    inside = (numbers >= low) & (numbers <= high)
    if margin == 0:
        return xp.where(inside, 1.0, 0.0)
    distance = xp.where(numbers < low, low - numbers, numbers - high) / margin
    return xp.where(inside, 1.0, _FALLING[falling](distance, at_margin))


def _gaussian(distance: Array, at_margin: float) -> Array:
    return namespace_of(distance).exp(distance**2 * math.log(at_margin))


def _linear(distance: Array, at_margin: float) -> Array:
    return (1 - distance * (1 - at_margin)).clip(0)


def _quadratic(distance: Array, at_margin: float) -> Array:
    return (1 - distance**2 * (1 - at_margin)).clip(0)


_FALLING = {"gaussian": _gaussian, "linear": _linear, "quadratic": _quadratic}


if TYPE_CHECKING:
    from wmel.environments.mujoco_rows import RowLayout


class Formula(Protocol):
    """Observation and reward of a task as functions of state rows."""

    sensors: ClassVar[tuple[str, ...]]  # of the state reached, which the row is to keep
    names: ClassVar[tuple[str, ...]]  # of the components of an observation

    def observe(self, rows: "Rows") -> np.ndarray:
        """[B,O], in the order of dm_control's sorted keys"""
        ...

    def reward(self, rows: "Rows") -> np.ndarray:
        """[B]"""
        ...


@runtime_checkable
class RewardFormula(Formula, Protocol):
    """A task whose reward is a function of what is observed after the step and of the control."""

    def reward_of(self, observations: Array, controls: Array) -> Array:
        """observations [...,O], controls [...,U] -> rewards [...]"""
        ...


@runtime_checkable
class RecoveryFormula(Formula, Protocol):
    """A task whose observation determines positions, velocities and constants."""

    def recover(self, observations: np.ndarray, rows: "Rows") -> None:
        """Fill in blank rows from observations [B,O]"""
        ...


@dataclass(frozen=True, eq=False)
class Rows:
    """State rows [B,S] by the names of what lies in them."""

    states: np.ndarray
    layout: "RowLayout"

    @property
    def positions(self) -> np.ndarray:
        return self.states[:, self.layout.positions]

    @property
    def velocities(self) -> np.ndarray:
        return self.states[:, self.layout.velocities]

    @property
    def controls(self) -> np.ndarray:
        return self.states[:, self.layout.control]

    def sensor(self, name: str) -> np.ndarray:
        """Readings [B,k]"""
        return self.layout.sensor(self.states, name)

    def constants(self, field: str, places: list[int]) -> np.ndarray:
        """Some places of a model field, laid flat, that differ between episodes: [B,k]; a view to read or to fill."""
        first = self.layout.constant.start
        columns = [first + self.layout.constants.place(field, where) for where in places]
        return self.states[:, columns[0] : columns[-1] + 1]
