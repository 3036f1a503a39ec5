"""cheetah run: run forward on two legs."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wmel.environments.dmc.formula import Rows, tolerance

TARGET_SPEED = 10.0
JOINTS = ("bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot")


@dataclass(frozen=True)
class Cheetah:
    """Observes all joints, but not the horizontal position."""

    sensors: ClassVar[tuple[str, ...]] = ("torso_subtreelinvel",)
    names: ClassVar[tuple[str, ...]] = (
        "height", "pitch", *JOINTS,
        "velocity_x", "velocity_z", "velocity_pitch", *(f"velocity_{joint}" for joint in JOINTS),
    )  # fmt: skip

    def observe(self, rows: Rows) -> np.ndarray:
        return np.concatenate([rows.positions[:, 1:], rows.velocities], axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        speed = rows.sensor("torso_subtreelinvel")[:, 0]
        return tolerance(speed, TARGET_SPEED, np.inf, margin=TARGET_SPEED, sigmoid="linear", value_at_margin=0)
