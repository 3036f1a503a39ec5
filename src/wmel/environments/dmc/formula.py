"""What wmel knows of a task in closed form, so that no row is looked at one by one."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import numpy as np

from wmel.arrays import Array

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
