"""acrobot, cartpole and pendulum: arms and poles that are swung up or balanced."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wmel.arrays import Array, namespace_of
from wmel.environments.dmc.formula import Rows, tolerance

ACROBOT_TARGET = 0.2
ACROBOT_ARM = 1.0


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
        distance = ACROBOT_ARM * xp.sqrt(sideways**2 + below**2)
        return tolerance(distance, 0, ACROBOT_TARGET, margin=0 if self.sparse else 1)

    def recover(self, observations: np.ndarray, rows: Rows) -> None:
        upper = np.arctan2(observations[:, 0], observations[:, 2])
        lower = np.arctan2(observations[:, 1], observations[:, 3])
        rows.positions[:] = np.stack([upper, lower - upper], axis=1)
        rows.velocities[:] = observations[:, 4:]


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


PENDULUM_UPRIGHT = np.cos(np.deg2rad(8))


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
        return tolerance(observations[..., 0], float(PENDULUM_UPRIGHT), 1)
