"""The interface of tasks whose observation and reward are formulas of the state, and dm_control's `tolerance`."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from wmel.arrays import Array, namespace_of

Sigmoid = Literal["gaussian", "linear", "quadratic"]


def tolerance(
    numbers: Array,
    low: float = 0.0,
    high: float = 0.0,
    margin: float = 0.0,
    sigmoid: Sigmoid = "gaussian",
    value_at_margin: float = 0.1,
) -> Array:
    """numbers [...] -> rewards [...]: 1 within the bounds, `value_at_margin` at the distance `margin` from them."""
    xp = namespace_of(numbers)
    inside = (numbers >= low) & (numbers <= high)
    if margin == 0:
        return xp.where(inside, 1.0, 0.0)
    distance = xp.where(numbers < low, low - numbers, numbers - high) / margin
    return xp.where(inside, 1.0, _SIGMOIDS[sigmoid](distance, value_at_margin))


def _gaussian(distance: Array, value_at_margin: float) -> Array:
    return namespace_of(distance).exp(distance**2 * math.log(value_at_margin))


def _linear(distance: Array, value_at_margin: float) -> Array:
    return (1 - distance * (1 - value_at_margin)).clip(0)


def _quadratic(distance: Array, value_at_margin: float) -> Array:
    return (1 - distance**2 * (1 - value_at_margin)).clip(0)


_SIGMOIDS = {"gaussian": _gaussian, "linear": _linear, "quadratic": _quadratic}


if TYPE_CHECKING:
    from wmel.environments.mujoco_rows import RowLayout


class Formula(Protocol):
    """The observation and the reward of a task as functions of state rows."""

    sensors: ClassVar[tuple[str, ...]]  # state sensors that the row must have
    names: ClassVar[tuple[str, ...]]  # components of the observation

    def observe(self, rows: "Rows") -> np.ndarray:
        """The observations [B,O], in the order of dm_control's sorted keys."""
        ...

    def reward(self, rows: "Rows") -> np.ndarray:
        """The rewards [B]."""
        ...


@runtime_checkable
class RewardFormula(Formula, Protocol):
    """A task whose reward is a function of the observation after the step and of the control."""

    def reward_of(self, observations: Array, controls: Array) -> Array:
        """observations [...,O], controls [...,U] -> rewards [...]"""
        ...


@runtime_checkable
class RecoveryFormula(Formula, Protocol):
    """A task whose observation determines positions, velocities and constants."""

    def recover(self, observations: np.ndarray, rows: "Rows") -> None:
        """Writes positions, velocities and constants into blank rows, from observations [B,O]."""
        ...


@dataclass(frozen=True, eq=False)
class Rows:
    """Named views of state rows [B,S]."""

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
        """The readings [B,k] of a sensor."""
        return self.layout.sensor(self.states, name)

    def constants(self, field: str, places: list[int]) -> np.ndarray:
        """A writable view [B,k] of constants, given their places in a flattened model field."""
        first = self.layout.constant.start
        columns = [first + self.layout.constants.index_of(field, place) for place in places]
        return self.states[:, columns[0] : columns[-1] + 1]
