"""cartpole balance and swingup: bring a pole on a cart upright, with a force on the cart."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wmel.arrays import Array
from wmel.environments.dmc.formula import Rows, tolerance


@dataclass(frozen=True)
class Cartpole:
    """Observes the cosine and sine of the angle between the pole and the vertical."""

    sparse: bool = False
    sensors: ClassVar[tuple[str, ...]] = ()
    names: ClassVar[tuple[str, ...]] = ("cart_position", "cos_pole", "sin_pole", "cart_velocity", "pole_velocity")

    def observe(self, rows: Rows) -> np.ndarray:
        cart, angle = rows.positions.T
        return np.concatenate([np.stack([cart, np.cos(angle), np.sin(angle)], axis=1), rows.velocities], axis=1)

    def reward(self, rows: Rows) -> np.ndarray:
        return self.reward_of(self.observe(rows), rows.controls)

    def reward_of(self, observations: Array, controls: Array) -> Array:
        """High if the pole is upright and slow, the cart is centred and the control is small."""
        cart, cosine, spin = observations[..., 0], observations[..., 1], observations[..., 4]
        if self.sparse:
            return tolerance(cart, -0.25, 0.25) * tolerance(cosine, 0.995, 1)
        centred = (1 + tolerance(cart, margin=2)) / 2
        gentle = (4 + tolerance(controls[..., 0], margin=1, sigmoid="quadratic", value_at_margin=0)) / 5
        slow = (1 + tolerance(spin, margin=5)) / 2
        return (cosine + 1) / 2 * gentle * slow * centred

    def recover(self, observations: np.ndarray, rows: Rows) -> None:
        angle = np.arctan2(observations[:, 2], observations[:, 1])
        rows.positions[:] = np.stack([observations[:, 0], angle], axis=1)
        rows.velocities[:] = observations[:, 3:]
