"""point_mass easy: push a mass on a plane to the middle."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wmel.arrays import Array, namespace_of
from wmel.environments.dmc.formula import Rows, tolerance

TARGET_RADIUS = 0.015


@dataclass(frozen=True)
class PointMass:
    """Positions and velocities are seen as they are."""

    sensors: ClassVar[tuple[str, ...]] = ()
    names: ClassVar[tuple[str, ...]] = ("x", "y", "velocity_x", "velocity_y")

    def observe(self, rows: Rows) -> np.ndarray:
        return np.concatenate([rows.positions, rows.velocities], axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        return self.reward_of(self.observe(rows), rows.controls)

    def reward_of(self, observations: Array, controls: Array) -> Array:
        """Near the middle, with little control."""
        distance = namespace_of(observations).sqrt(observations[..., 0] ** 2 + observations[..., 1] ** 2)
        near = tolerance(distance, 0, TARGET_RADIUS, margin=TARGET_RADIUS)
        gentle = tolerance(controls, margin=1, falling="quadratic", at_margin=0)
        return near * ((gentle[..., 0] + gentle[..., 1]) / 2 + 4) / 5
