"""finger spin and turn: a two-jointed finger turns a body on a hinge."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wmel.arrays import Array, namespace_of
from wmel.environments.dmc.formula import Rows

TIP = 0.13  # from the hinge to the tip of the body
HINGE = np.array([0.2, 0.4])
FAST = 15.0
SEEN = (
    "proximal", "distal", "tip_x", "tip_z", "touch_top", "touch_bottom",
    "velocity_proximal", "velocity_distal", "velocity_hinge",
)  # fmt: skip


@dataclass(frozen=True)
class FingerSpin:
    """The body is to spin fast, one way."""

    sensors: ClassVar[tuple[str, ...]] = ()
    names: ClassVar[tuple[str, ...]] = SEEN

    def observe(self, rows: Rows) -> np.ndarray:
        return np.concatenate([_position(rows), _touch(rows), rows.velocities], axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        return self.reward_of(self.observe(rows), rows.controls)

    def reward_of(self, observations: Array, controls: Array) -> Array:
        """The hinge turns fast enough."""
        return namespace_of(observations).where(observations[..., 8] <= -FAST, 1.0, 0.0)


@dataclass(frozen=True)
class FingerTurn:
    """The tip of the body is to point at a target that lies elsewhere in every episode."""

    target_radius: float
    target: int  # of the target among the model's sites
    sensors: ClassVar[tuple[str, ...]] = ()
    names: ClassVar[tuple[str, ...]] = ("distance", *SEEN[:4], "target_x", "target_z", *SEEN[4:])

    def observe(self, rows: Rows) -> np.ndarray:
        target = self._target(rows)
        seen = (self._distance(rows)[:, None], _position(rows), target, _touch(rows), rows.velocities)
        return np.concatenate(seen, axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        return np.where(self._distance(rows) <= 0, 1.0, 0.0)

    def _distance(self, rows: Rows) -> np.ndarray:
        """To the surface of the target; negative inside."""
        return np.linalg.norm(self._target(rows) - _tip(rows), axis=1) - self.target_radius

    def _target(self, rows: Rows) -> np.ndarray:
        """Seen from the hinge: [B,2]"""
        places = [3 * self.target, 3 * self.target + 2]
        return np.concatenate([rows.constants("site_pos", [place]) for place in places], axis=1) - HINGE


def _tip(rows: Rows) -> np.ndarray:
    """Seen from the hinge: [B,2]"""
    angle = rows.positions[:, 2]
    return TIP * np.stack([-np.sin(angle), np.cos(angle)], axis=1)


def _position(rows: Rows) -> np.ndarray:
    return np.concatenate([rows.positions[:, :2], _tip(rows)], axis=1)


def _touch(rows: Rows) -> np.ndarray:
    return np.log1p(np.concatenate([rows.sensor("touchtop"), rows.sensor("touchbottom")], axis=1))
