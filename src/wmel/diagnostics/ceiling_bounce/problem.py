"""The ceiling bounce: its dynamics, and the landscape of its objective over launch angles."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from wmel.arrays import Array
from wmel.models.callable_model import PairModel

GRAVITY = 9.81  # m/s^2, downwards
CEILING_START, CEILING_END, CEILING_HEIGHT = 1.0, 2.5, 0.5  # metres
RESTITUTION = 0.5
STEP = 2e-5  # radians between angles; the position of a jump is exact to this
REACH = 1.5  # radians above and below the horizontal: 20 steps of Adam move at most 1.2
TAILS = 8  # standard deviations of noise in the convolution


def distances(angles: torch.Tensor, speed: float) -> torch.Tensor:
    """Metres that a ball launched at angles [...] (radians) flies before it lands: [...]

    Negative below the horizontal, where the formula puts the landing before the start. A ball that clears the leading
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
    return (up > 0) & (_squared_speed_at_ceiling(up) > 0) & (meets_at >= CEILING_START) & (meets_at <= CEILING_END)


def launch_model(speed: float) -> PairModel:
    """The launch as a world model: one action, the angle, whose reward is the distance."""

    def rewards(latents: Array, actions: Array) -> Array:
        return distances(actions[:, 0], speed)

    return PairModel(lambda latents, actions: latents, rewards, name=f"ceiling bounce at {speed:g} m/s")


def _upward_speed_at_ceiling(up: torch.Tensor) -> torch.Tensor:
    """Upward speed at the height of the ceiling, m/s; 1 where the ball stays lower, to keep NaN out of gradients."""
    squared = _squared_speed_at_ceiling(up)
    return torch.sqrt(torch.where(squared > 0, squared, torch.ones_like(squared)))


def _squared_speed_at_ceiling(up: torch.Tensor) -> torch.Tensor:
    """The square of the upward speed at the height of the ceiling; negative where the ball stays lower."""
    return up**2 - 2 * GRAVITY * CEILING_HEIGHT


@dataclass(frozen=True, eq=False)
class Landscape:
    """Distances of one launch speed at n angles, and whether the ball hits the ceiling there."""

    speed: float
    sigma: float  # of the noise on the angle
    angles: np.ndarray  # [n]
    distances: np.ndarray  # [n]
    contact: np.ndarray  # [n] bool

    @property
    def best(self) -> float:
        """The longest distance."""
        return float(self.distances.max())

    @cached_property
    def best_smoothed(self) -> float:
        """J*, the longest mean distance under noise: the greatest height of an ascent."""
        return float(self._smoothed.max())

    @property
    def best_angle(self) -> float:
        return float(self.angles[self.distances.argmax()])

    @cached_property
    def contact_interval(self) -> tuple[float, float] | None:
        """The interval of angles at which the ball hits the ceiling; None at low speeds."""
        place = self._contact_ends
        return None if place is None else (float(self.angles[place[0]]), float(self.angles[place[1]]))

    @property
    def jump_up(self) -> float | None:
        """Metres gained by clearing the leading edge, at the end of the contact."""
        ends = self._contact_ends
        return None if ends is None else float(self.distances[ends[1] + 1] - self.distances[ends[1]])

    @property
    def best_before_contact(self) -> float | None:
        """The longest distance of flatter launches, where an ascent that cannot cross the jump ends."""
        ends = self._contact_ends
        return None if ends is None else float(self.distances[: ends[0]].max())

    def smoothed_at(self, angles: np.ndarray) -> np.ndarray:
        """The mean distance under noise around angles [...]: the objective of every estimator"""
        return np.interp(angles, self.angles, self._smoothed)

    def slope_at(self, angles: np.ndarray) -> np.ndarray:
        """The true gradient of that mean at angles [...], jumps included"""
        return np.interp(angles, self.angles, self._slopes)

    def near_contact(self, angles: np.ndarray, deviations: float = 2) -> np.ndarray:
        """Which of angles [...] lie in the contact interval or within some standard deviations of it: bool"""
        if self.contact_interval is None:
            return np.zeros(np.shape(angles), bool)
        low, high = self.contact_interval
        return (angles >= low - deviations * self.sigma) & (angles <= high + deviations * self.sigma)

    @cached_property
    def _contact_ends(self) -> tuple[int, int] | None:
        found = np.flatnonzero(self.contact)
        return (int(found[0]), int(found[-1])) if len(found) else None

    @cached_property
    def _smoothed(self) -> np.ndarray:
        return _convolve(self.distances, self._kernel[1])

    @cached_property
    def _slopes(self) -> np.ndarray:
        """By the score function, E[J(theta + noise) noise] / sigma^2, which holds across jumps."""
        noise, weights = self._kernel
        return _convolve(self.distances, weights * noise / self.sigma**2)

    @property
    def _kernel(self) -> tuple[np.ndarray, np.ndarray]:
        """Noise on the grid of angles, and the probability of each."""
        count = round(TAILS * self.sigma / STEP)
        noise = STEP * np.arange(-count, count + 1)
        weights = np.exp(-0.5 * (noise / self.sigma) ** 2)
        return noise, weights / weights.sum()


def landscape(speed: float, sigma: float) -> Landscape:
    """The landscape of a launch speed."""
    count = round(REACH / STEP)
    angles = STEP * np.arange(-count, count + 1)
    tensor = torch.as_tensor(angles)
    return Landscape(speed, sigma, angles, distances(tensor, speed).numpy(), meets_ceiling(tensor, speed).numpy())


def _convolve(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """sum_k weights[k] values[i + k], where k = 0 is the middle of the weights: [n]; the ends are not valid."""
    size = len(values) + len(weights) - 1
    product = np.fft.rfft(values, size) * np.fft.rfft(weights[::-1], size)
    first = len(weights) // 2
    return np.fft.irfft(product, size)[first : first + len(values)]
