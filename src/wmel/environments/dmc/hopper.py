"""hopper stand and hop: a planar body on one leg."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wmel.environments.dmc.formula import Rows, tolerance

STANDING, TALLEST = 0.6, 2.0
TARGET_SPEED = 2.0
JOINTS = ("waist", "hip", "knee", "ankle")


@dataclass(frozen=True, eq=False)
class Hopper:
    """Observes all joints and the touch sensors of the foot, but not the horizontal position."""

    hopping: bool
    links: np.ndarray  # vectors (x,z) between neighbouring joints, from torso to foot [4,2]
    centres: np.ndarray  # centres of mass of torso and foot relative to their joints [2,2]
    sensors: ClassVar[tuple[str, ...]] = ("torso_subtreelinvel",)
    names: ClassVar[tuple[str, ...]] = (
        "z", "pitch", *JOINTS, "touch_toe", "touch_heel",
        "velocity_x", "velocity_z", "velocity_pitch", *(f"velocity_{joint}" for joint in JOINTS),
    )  # fmt: skip

    def observe(self, rows: Rows) -> np.ndarray:
        touch = np.log1p(np.concatenate([rows.sensor("touch_toe"), rows.sensor("touch_heel")], axis=1))
        return np.concatenate([rows.positions[:, 1:], touch, rows.velocities], axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        stands = tolerance(self._height(rows), STANDING, TALLEST)
        if self.hopping:
            forward = rows.sensor("torso_subtreelinvel")[:, 0]
            return stands * tolerance(
                forward, TARGET_SPEED, np.inf, margin=TARGET_SPEED / 2, sigmoid="linear", value_at_margin=0.5
            )
        gentle = tolerance(rows.controls, margin=1, sigmoid="quadratic", value_at_margin=0).mean(axis=1)
        return stands * (gentle + 4) / 5

    def _height(self, rows: Rows) -> np.ndarray:
        """The height [B] of the centre of the torso above that of the foot."""
        angles = rows.positions[:, 2:].cumsum(axis=1)  # of torso, pelvis, thigh, calf, foot
        foot = _heights(self.links, angles[:, :4]).sum(axis=1) + _heights(self.centres[1:], angles[:, 4:])[:, 0]
        return _heights(self.centres[:1], angles[:, :1])[:, 0] - foot


def _heights(vectors: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """The vertical components [B,k] of vectors [k,2] after rotation by angles [B,k]."""
    return vectors[:, 1] * np.cos(angles) - vectors[:, 0] * np.sin(angles)
