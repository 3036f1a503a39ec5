"""pendulum swingup: bring a pole upright with a motor that cannot lift it in one motion."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wmel.arrays import Array
from wmel.environments.dmc.formula import Rows, tolerance

UPRIGHT = np.cos(np.deg2rad(8))


@dataclass(frozen=True)
class Pendulum:
    """Observes the cosine and sine of the angle between the pole and the vertical."""

    sensors: ClassVar[tuple[str, ...]] = ()
    names: ClassVar[tuple[str, ...]] = ("cos_pole", "sin_pole", "pole_velocity")

    def observe(self, rows: Rows) -> np.ndarray:
        angle = rows.positions
        return np.concatenate([np.cos(angle), np.sin(angle), rows.velocities], axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        return self.reward_of(self.observe(rows), rows.controls)

    def reward_of(self, observations: Array, controls: Array) -> Array:
        """1 within eight degrees of upright."""
        return tolerance(observations[..., 0], float(UPRIGHT), 1)
