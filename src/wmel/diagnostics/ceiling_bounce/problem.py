"""The launch itself: how far a ball flies that may bounce off a ceiling, as differentiable torch code."""

import torch

from wmel.arrays import Array
from wmel.models.pair import PairModel

GRAVITY = 9.81  # m/s^2, downwards
CEILING_START, CEILING_END, CEILING_HEIGHT = 1.0, 2.5, 0.5  # metres
RESTITUTION = 0.5


def distances(angles: torch.Tensor, speed: float) -> torch.Tensor:
    """Metres flown before the ball is on the ground again, launched at angles [...] (radians): [...]

    Negative below the horizon, where the formula lets the ball land before it starts. A ball that clears the leading
    edge flies on: the upper side of the ceiling is ignored.
    """
    across, up = speed * torch.cos(angles), speed * torch.sin(angles)
    at_ceiling = _upward_speed_at_ceiling(up)
    meets_at = across * (up - at_ceiling) / GRAVITY
    bounced = -RESTITUTION * at_ceiling
    fall_s = (bounced + torch.sqrt(bounced**2 + 2 * GRAVITY * CEILING_HEIGHT)) / GRAVITY
    return torch.where(meets_ceiling(angles, speed), meets_at + across * fall_s, 2 * across * up / GRAVITY)


def meets_ceiling(angles: torch.Tensor, speed: float) -> torch.Tensor:
    """Whether the ball hits the ceiling from below: bool, of angles [...]"""
    across, up = speed * torch.cos(angles), speed * torch.sin(angles)
    meets_at = across * (up - _upward_speed_at_ceiling(up)) / GRAVITY
    return (up > 0) & (_spare(up) > 0) & (meets_at >= CEILING_START) & (meets_at <= CEILING_END)


def launch_model(speed: float) -> PairModel:
    """The launch as a world model: one action, the angle, whose reward is the distance."""

    def rewards(latents: Array, actions: Array) -> Array:
        return distances(actions[:, 0], speed)

    return PairModel(lambda latents, actions: latents, rewards, name=f"ceiling bounce at {speed:g} m/s")


def _upward_speed_at_ceiling(up: torch.Tensor) -> torch.Tensor:
    """m/s; 1 where the ball does not get so high, which keeps NaN out of gradients."""
    spare = _spare(up)
    return torch.sqrt(torch.where(spare > 0, spare, torch.ones_like(spare)))


def _spare(up: torch.Tensor) -> torch.Tensor:
    """The square of the upward speed that is left at the height of the ceiling; below 0 it is not reached."""
    return up**2 - 2 * GRAVITY * CEILING_HEIGHT
