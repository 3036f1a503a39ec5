"""ball_in_cup, finger, point_mass and reacher: a ball, a body, a mass or a fingertip is brought to a target."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wmel.arrays import Array, namespace_of
from wmel.environments.dmc.formula import Rows, tolerance

CUP_HEIGHT, BALL_HEIGHT = 0.6 - 0.05, 0.2  # of their centres, with all joints at zero
CLEARANCE = 0.05 - 0.025  # the half-width of the cup minus the radius of the ball


@dataclass(frozen=True)
class BallInCup:
    """Observes the positions and velocities of cup and ball."""

    sensors: ClassVar[tuple[str, ...]] = ()
    names: ClassVar[tuple[str, ...]] = (
        "cup_x", "cup_z", "ball_x", "ball_z", "velocity_cup_x", "velocity_cup_z", "velocity_ball_x", "velocity_ball_z",
    )  # fmt: skip

    def observe(self, rows: Rows) -> np.ndarray:
        return np.concatenate([rows.positions, rows.velocities], axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        return self.reward_of(self.observe(rows), rows.controls)

    def reward_of(self, observations: Array, controls: Array) -> Array:
        """1 if the ball is in the cup."""
        sideways = observations[..., 0] - observations[..., 2]
        up = (CUP_HEIGHT + observations[..., 1]) - (BALL_HEIGHT + observations[..., 3])
        inside = (abs(sideways) < CLEARANCE) & (abs(up) < CLEARANCE)
        return namespace_of(observations).where(inside, 1.0, 0.0)


FINGER_TIP = 0.13  # distance from the hinge to the tip of the body
FINGER_HINGE = np.array([0.2, 0.4])
FINGER_SPEED = 15.0
FINGER_OBSERVED = (
    "proximal", "distal", "tip_x", "tip_z", "touch_top", "touch_bottom",
    "velocity_proximal", "velocity_distal", "velocity_hinge",
)  # fmt: skip


@dataclass(frozen=True)
class FingerSpin:
    """The goal is to spin the body fast in one direction."""

    sensors: ClassVar[tuple[str, ...]] = ()
    names: ClassVar[tuple[str, ...]] = FINGER_OBSERVED

    def observe(self, rows: Rows) -> np.ndarray:
        return np.concatenate([_joints_and_tip(rows), _touch(rows), rows.velocities], axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        return self.reward_of(self.observe(rows), rows.controls)

    def reward_of(self, observations: Array, controls: Array) -> Array:
        """1 if the hinge turns fast enough."""
        return namespace_of(observations).where(observations[..., 8] <= -FINGER_SPEED, 1.0, 0.0)


@dataclass(frozen=True)
class FingerTurn:
    """The goal is to turn the tip of the body to a target, whose position differs between episodes."""

    target_radius: float
    target: int  # site index in the model
    sensors: ClassVar[tuple[str, ...]] = ()
    names: ClassVar[tuple[str, ...]] = ("distance", *FINGER_OBSERVED[:4], "target_x", "target_z", *FINGER_OBSERVED[4:])

    def observe(self, rows: Rows) -> np.ndarray:
        distance, target = self._distance(rows)[:, None], self._target(rows)
        return np.concatenate([distance, _joints_and_tip(rows), target, _touch(rows), rows.velocities], axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        return np.where(self._distance(rows) <= 0, 1.0, 0.0)

    def _distance(self, rows: Rows) -> np.ndarray:
        """The distance [B] between the tip and the surface of the target, negative inside."""
        return np.linalg.norm(self._target(rows) - _tip(rows), axis=1) - self.target_radius

    def _target(self, rows: Rows) -> np.ndarray:
        """The position [B,2] of the target relative to the hinge."""
        places = [3 * self.target, 3 * self.target + 2]
        return np.concatenate([rows.constants("site_pos", [place]) for place in places], axis=1) - FINGER_HINGE


def _tip(rows: Rows) -> np.ndarray:
    """The position [B,2] of the tip relative to the hinge."""
    angle = rows.positions[:, 2]
    return FINGER_TIP * np.stack([-np.sin(angle), np.cos(angle)], axis=1)


def _joints_and_tip(rows: Rows) -> np.ndarray:
    return np.concatenate([rows.positions[:, :2], _tip(rows)], axis=1)


def _touch(rows: Rows) -> np.ndarray:
    return np.log1p(np.concatenate([rows.sensor("touchtop"), rows.sensor("touchbottom")], axis=1))


POINT_TARGET = 0.015


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
        centred = tolerance(distance, 0, POINT_TARGET, margin=POINT_TARGET)
        gentle = tolerance(controls, margin=1, sigmoid="quadratic", value_at_margin=0)
        return centred * ((gentle[..., 0] + gentle[..., 1]) / 2 + 4) / 5


REACHER_LINK = 0.12
REACHER_FINGER = 0.01


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
        return tolerance(distance, 0, self.target_radius + REACHER_FINGER)

    def recover(self, observations: np.ndarray, rows: Rows) -> None:
        rows.positions[:] = observations[:, :2]
        rows.velocities[:] = observations[:, 4:]
        self._target(rows)[:] = _finger(observations[:, :2]) + observations[:, 2:4]

    def _target(self, rows: Rows) -> np.ndarray:
        return rows.constants("geom_pos", [3 * self.target, 3 * self.target + 1])


def _finger(positions: np.ndarray) -> np.ndarray:
    """Joint angles [B,2] -> positions of the finger [B,2]"""
    angles = positions.cumsum(axis=1)
    return REACHER_LINK * np.stack([np.cos(angles).sum(axis=1), np.sin(angles).sum(axis=1)], axis=1)
