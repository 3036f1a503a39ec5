"""ball_in_cup catch: swing a ball on a string into the cup that it hangs from."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wmel.arrays import Array, namespace_of
from wmel.environments.dmc.formula import Rows

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
