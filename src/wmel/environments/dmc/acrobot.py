"""acrobot swingup: raise the tip of two arms to a target, with torque at the elbow only."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wmel.arrays import Array, namespace_of
from wmel.environments.dmc.formula import Rows, tolerance

TARGET_RADIUS = 0.2
ARM = 1.0


@dataclass(frozen=True)
class Acrobot:
    """Observes the sines and cosines of the angles between the arms and the vertical."""

    sparse: bool = False
    sensors: ClassVar[tuple[str, ...]] = ()
    names: ClassVar[tuple[str, ...]] = (
        "sin_upper", "sin_lower", "cos_upper", "cos_lower", "velocity_shoulder", "velocity_elbow",
    )  # fmt: skip

    def observe(self, rows: Rows) -> np.ndarray:
        angles = rows.positions.cumsum(axis=1)
        return np.concatenate([np.sin(angles), np.cos(angles), rows.velocities], axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        return self.reward_of(self.observe(rows), rows.controls)

    def reward_of(self, observations: Array, controls: Array) -> Array:
        """A function of the distance between the tip and the target."""
        xp = namespace_of(observations)
        sideways = observations[..., 0] + observations[..., 1]
        below = 2 - observations[..., 2] - observations[..., 3]
        distance = ARM * xp.sqrt(sideways**2 + below**2)
        return tolerance(distance, 0, TARGET_RADIUS, margin=0 if self.sparse else 1)

    def recover(self, observations: np.ndarray, rows: Rows) -> None:
        upper = np.arctan2(observations[:, 0], observations[:, 2])
        lower = np.arctan2(observations[:, 1], observations[:, 3])
        rows.positions[:] = np.stack([upper, lower - upper], axis=1)
        rows.velocities[:] = observations[:, 4:]
