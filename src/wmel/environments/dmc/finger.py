"""finger spin and turn: a finger with two joints turns a body on a hinge."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wmel.arrays import Array, namespace_of
from wmel.environments.dmc.formula import Rows

TIP = 0.13  # distance from the hinge to the tip of the body
HINGE = np.array([0.2, 0.4])
TARGET_SPEED = 15.0
OBSERVED = (
    "proximal", "distal", "tip_x", "tip_z", "touch_top", "touch_bottom",
    "velocity_proximal", "velocity_distal", "velocity_hinge",
)  # fmt: skip


@dataclass(frozen=True)
class FingerSpin:
    """The goal is to spin the body fast in one direction."""

    sensors: ClassVar[tuple[str, ...]] = ()
    names: ClassVar[tuple[str, ...]] = OBSERVED

    def observe(self, rows: Rows) -> np.ndarray:
        return np.concatenate([_position(rows), _touch(rows), rows.velocities], axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        return self.reward_of(self.observe(rows), rows.controls)

    def reward_of(self, observations: Array, controls: Array) -> Array:
        """1 if the hinge turns fast enough."""
        return namespace_of(observations).where(observations[..., 8] <= -TARGET_SPEED, 1.0, 0.0)


@dataclass(frozen=True)
class FingerTurn:
    """The goal is to turn the tip of the body to a target, whose position differs between episodes."""

    target_radius: float
    target: int  # site index in the model
    sensors: ClassVar[tuple[str, ...]] = ()
    names: ClassVar[tuple[str, ...]] = ("distance", *OBSERVED[:4], "target_x", "target_z", *OBSERVED[4:])

    def observe(self, rows: Rows) -> np.ndarray:
        distance, target = self._distance(rows)[:, None], self._target(rows)
        return np.concatenate([distance, _position(rows), target, _touch(rows), rows.velocities], axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        return np.where(self._distance(rows) <= 0, 1.0, 0.0)

    def _distance(self, rows: Rows) -> np.ndarray:
        """The distance [B] between the tip and the surface of the target, negative inside."""
        return np.linalg.norm(self._target(rows) - _tip(rows), axis=1) - self.target_radius

    def _target(self, rows: Rows) -> np.ndarray:
        """The position [B,2] of the target relative to the hinge."""
        places = [3 * self.target, 3 * self.target + 2]
        return np.concatenate([rows.constants("site_pos", [place]) for place in places], axis=1) - HINGE


def _tip(rows: Rows) -> np.ndarray:
    """The position [B,2] of the tip relative to the hinge."""
    angle = rows.positions[:, 2]
    return TIP * np.stack([-np.sin(angle), np.cos(angle)], axis=1)


def _position(rows: Rows) -> np.ndarray:
    return np.concatenate([rows.positions[:, :2], _tip(rows)], axis=1)


def _touch(rows: Rows) -> np.ndarray:
    return np.log1p(np.concatenate([rows.sensor("touchtop"), rows.sensor("touchbottom")], axis=1))
