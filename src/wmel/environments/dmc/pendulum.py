"""pendulum swingup: bring a pole upright with a motor too weak to lift it at once."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wmel.arrays import Array
from wmel.environments.dmc.formula import Rows, tolerance

UPRIGHT = np.cos(np.deg2rad(8))


@dataclass(frozen=True)
class Pendulum:
    """The pole is seen by the cosine and sine of its angle to the vertical."""

    sensors: ClassVar[tuple[str, ...]] = ()
    names: ClassVar[tuple[str, ...]] = ("cos_pole", "sin_pole", "pole_velocity")

    def observe(self, rows: Rows) -> np.ndarray:
        angle = rows.positions
        return np.concatenate([np.cos(angle), np.sin(angle), rows.velocities], axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        return self.reward_of(self.observe(rows), rows.controls)

    def reward_of(self, observations: Array, controls: Array) -> Array:
        """Within eight degrees of upright."""
        return tolerance(observations[..., 0], float(UPRIGHT), 1)
