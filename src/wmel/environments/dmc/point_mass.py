"""point_mass easy and hard: push a mass on a plane to the centre."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wmel.arrays import Array, namespace_of
from wmel.environments.dmc.formula import Rows, tolerance

TARGET_RADIUS = 0.015


@dataclass(frozen=True)
class PointMass:
    """Observes the position and the velocity."""

    sensors: ClassVar[tuple[str, ...]] = ()
    names: ClassVar[tuple[str, ...]] = ("x", "y", "velocity_x", "velocity_y")

    def observe(self, rows: Rows) -> np.ndarray:
        return np.concatenate([rows.positions, rows.velocities], axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        return self.reward_of(self.observe(rows), rows.controls)

    def reward_of(self, observations: Array, controls: Array) -> Array:
        """High near the centre with small controls."""
        distance = namespace_of(observations).sqrt(observations[..., 0] ** 2 + observations[..., 1] ** 2)
        centred = tolerance(distance, 0, TARGET_RADIUS, margin=TARGET_RADIUS)
        gentle = tolerance(controls, margin=1, sigmoid="quadratic", value_at_margin=0)
        return centred * ((gentle[..., 0] + gentle[..., 1]) / 2 + 4) / 5
