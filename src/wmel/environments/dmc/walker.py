"""walker stand, walk and run: a planar body on two legs."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wmel.environments.dmc.formula import Rows, tolerance

TORSO_HEIGHT = 1.3  # with the joint at zero
STANDING = 1.2
BODIES = ("torso", "right_thigh", "right_leg", "right_foot", "left_thigh", "left_leg", "left_foot")
JOINTS = ("z", "x", "pitch", "right_hip", "right_knee", "right_ankle", "left_hip", "left_knee", "left_ankle")


@dataclass(frozen=True)
class Walker:
    """Observes the cosines and sines of the angles of all bodies. With a speed of 0 the goal is to stand."""

    speed: float
    sensors: ClassVar[tuple[str, ...]] = ("torso_subtreelinvel",)
    names: ClassVar[tuple[str, ...]] = (
        "height",
        *(f"{part}_{body}" for body in BODIES for part in ("cos", "sin")),
        *(f"velocity_{joint}" for joint in JOINTS),
    )

    def observe(self, rows: Rows) -> np.ndarray:
        angles = _angles(rows.positions)
        orientations = np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(len(angles), 2 * len(BODIES))
        return np.concatenate([_height(rows)[:, None], orientations, rows.velocities], axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        standing = tolerance(_height(rows), STANDING, np.inf, margin=STANDING / 2)
        upright = (1 + np.cos(rows.positions[:, 2])) / 2
        stands = (3 * standing + upright) / 4
        if self.speed == 0:
            return stands
        forward = rows.sensor("torso_subtreelinvel")[:, 0]
        moves = tolerance(forward, self.speed, np.inf, margin=self.speed / 2, sigmoid="linear", value_at_margin=0.5)
        return stands * (5 * moves + 1) / 6


def _height(rows: Rows) -> np.ndarray:
    return TORSO_HEIGHT + rows.positions[:, 0]


def _angles(positions: np.ndarray) -> np.ndarray:
    """The angles [B,7] between the bodies and the vertical. The joints of root and legs have opposite signs."""
    pitch = positions[:, 2:3]
    right, left = positions[:, 3:6].cumsum(axis=1), positions[:, 6:9].cumsum(axis=1)
    return np.concatenate([pitch, pitch - right, pitch - left], axis=1)
