"""reacher easy and hard: move the finger of a planar arm to a target."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wmel.arrays import Array, namespace_of
from wmel.environments.dmc.formula import Rows, tolerance

LINK = 0.12
FINGER_RADIUS = 0.01


@dataclass(frozen=True)
class Reacher:
    """Observes the vector from the finger to the target, whose position differs between episodes."""

    target_radius: float
    target: int  # geom index in the model
    sensors: ClassVar[tuple[str, ...]] = ()
    names: ClassVar[tuple[str, ...]] = (
        "shoulder", "wrist", "to_target_x", "to_target_y", "velocity_shoulder", "velocity_wrist",
    )  # fmt: skip

    def observe(self, rows: Rows) -> np.ndarray:
        to_target = self._target(rows) - _finger(rows.positions)
        return np.concatenate([rows.positions, to_target, rows.velocities], axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        return self.reward_of(self.observe(rows), rows.controls)

    def reward_of(self, observations: Array, controls: Array) -> Array:
        """1 if finger and target touch."""
        distance = namespace_of(observations).sqrt(observations[..., 2] ** 2 + observations[..., 3] ** 2)
        return tolerance(distance, 0, self.target_radius + FINGER_RADIUS)

    def recover(self, observations: np.ndarray, rows: Rows) -> None:
        rows.positions[:] = observations[:, :2]
        rows.velocities[:] = observations[:, 4:]
        self._target(rows)[:] = _finger(observations[:, :2]) + observations[:, 2:4]

    def _target(self, rows: Rows) -> np.ndarray:
        return rows.constants("geom_pos", [3 * self.target, 3 * self.target + 1])


def _finger(positions: np.ndarray) -> np.ndarray:
    """Joint angles [B,2] -> positions of the finger [B,2]"""
    angles = positions.cumsum(axis=1)
    return LINK * np.stack([np.cos(angles).sum(axis=1), np.sin(angles).sum(axis=1)], axis=1)
