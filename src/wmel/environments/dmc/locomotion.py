"""cheetah, hopper and walker: planar bodies that stand, walk, run or hop."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wmel.environments.dmc.formula import Rows, tolerance

CHEETAH_SPEED = 10.0
CHEETAH_JOINTS = ("bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot")


@dataclass(frozen=True)
class Cheetah:
    """Observes all joints, but not the horizontal position."""

    sensors: ClassVar[tuple[str, ...]] = ("torso_subtreelinvel",)
    names: ClassVar[tuple[str, ...]] = (
        "height", "pitch", *CHEETAH_JOINTS,
        "velocity_x", "velocity_z", "velocity_pitch", *(f"velocity_{joint}" for joint in CHEETAH_JOINTS),
    )  # fmt: skip

    def observe(self, rows: Rows) -> np.ndarray:
        return np.concatenate([rows.positions[:, 1:], rows.velocities], axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        speed = rows.sensor("torso_subtreelinvel")[:, 0]
        return tolerance(speed, CHEETAH_SPEED, np.inf, margin=CHEETAH_SPEED, sigmoid="linear", value_at_margin=0)


HOPPER_STANDING, HOPPER_TALLEST = 0.6, 2.0
HOPPER_SPEED = 2.0
HOPPER_JOINTS = ("waist", "hip", "knee", "ankle")


@dataclass(frozen=True, eq=False)
class Hopper:
    """Observes all joints and the touch sensors of the foot, but not the horizontal position."""

    hopping: bool
    links: np.ndarray  # vectors (x,z) between neighbouring joints, from torso to foot [4,2]
    centres: np.ndarray  # centres of mass of torso and foot relative to their joints [2,2]
    sensors: ClassVar[tuple[str, ...]] = ("torso_subtreelinvel",)
    names: ClassVar[tuple[str, ...]] = (
        "z", "pitch", *HOPPER_JOINTS, "touch_toe", "touch_heel",
        "velocity_x", "velocity_z", "velocity_pitch", *(f"velocity_{joint}" for joint in HOPPER_JOINTS),
    )  # fmt: skip

    def observe(self, rows: Rows) -> np.ndarray:
        touch = np.log1p(np.concatenate([rows.sensor("touch_toe"), rows.sensor("touch_heel")], axis=1))
        return np.concatenate([rows.positions[:, 1:], touch, rows.velocities], axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        stands = tolerance(self._height(rows), HOPPER_STANDING, HOPPER_TALLEST)
        if self.hopping:
            forward = rows.sensor("torso_subtreelinvel")[:, 0]
            return stands * tolerance(
                forward, HOPPER_SPEED, np.inf, margin=HOPPER_SPEED / 2, sigmoid="linear", value_at_margin=0.5
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


WALKER_TORSO = 1.3  # with the joint at zero
WALKER_STANDING = 1.2
WALKER_BODIES = ("torso", "right_thigh", "right_leg", "right_foot", "left_thigh", "left_leg", "left_foot")
WALKER_JOINTS = ("z", "x", "pitch", "right_hip", "right_knee", "right_ankle", "left_hip", "left_knee", "left_ankle")


@dataclass(frozen=True)
class Walker:
    """Observes the cosines and sines of the angles of all bodies. With a speed of 0 the goal is to stand."""

    speed: float
    sensors: ClassVar[tuple[str, ...]] = ("torso_subtreelinvel",)
    names: ClassVar[tuple[str, ...]] = (
        "height",
        *(f"{part}_{body}" for body in WALKER_BODIES for part in ("cos", "sin")),
        *(f"velocity_{joint}" for joint in WALKER_JOINTS),
    )

    def observe(self, rows: Rows) -> np.ndarray:
        angles = _body_angles(rows.positions)
        orientations = np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(len(angles), 2 * len(WALKER_BODIES))
        return np.concatenate([_torso_height(rows)[:, None], orientations, rows.velocities], axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        standing = tolerance(_torso_height(rows), WALKER_STANDING, np.inf, margin=WALKER_STANDING / 2)
        upright = (1 + np.cos(rows.positions[:, 2])) / 2
        stands = (3 * standing + upright) / 4
        if self.speed == 0:
            return stands
        forward = rows.sensor("torso_subtreelinvel")[:, 0]
        moves = tolerance(forward, self.speed, np.inf, margin=self.speed / 2, sigmoid="linear", value_at_margin=0.5)
        return stands * (5 * moves + 1) / 6


def _torso_height(rows: Rows) -> np.ndarray:
    return WALKER_TORSO + rows.positions[:, 0]


def _body_angles(positions: np.ndarray) -> np.ndarray:
    """The angles [B,7] between the bodies and the vertical. The joints of root and legs have opposite signs."""
    pitch = positions[:, 2:3]
    right, left = positions[:, 3:6].cumsum(axis=1), positions[:, 6:9].cumsum(axis=1)
    return np.concatenate([pitch, pitch - right, pitch - left], axis=1)
