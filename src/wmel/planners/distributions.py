"""Distributions over action sequences: uniform, Gaussian and categorical, with knots or at every step."""

from dataclasses import dataclass

import numpy as np

from wmel.arrays import Array, as_like, copied, namespace_of, one_hot, whole
from wmel.contract.environment import Box, Finite, Space
from wmel.contract.planner import PlanningProblem, Remainder
from wmel.errors import BadInput
from wmel.randomness import normals


@dataclass(frozen=True)
class Knots:
    """`count` moments spread evenly over a horizon, its first and last step among them."""

    count: int
    horizon: int
    space: Space

    @classmethod
    def over(cls, knots: int | None, horizon: int, space: Space) -> "Knots":
        """As many knots as asked for, at most one per step; without any, one per step."""
        if knots is not None and not isinstance(space, Box):
            raise BadInput("knots interpolate between actions, which needs a Box; finite actions have nothing between")
        return cls(horizon if knots is None else min(knots, horizon), horizon, space)

    @staticmethod
    def check(knots: int | None, horizon: int) -> None:
        """Refuse a single knot, unless there is a single step."""
        if knots is not None and knots < 2 and knots != horizon:
            raise BadInput(f"knots must be at least 2, or as many as a plan has steps ({horizon}), got {knots}")

    def spread(self, values: Array) -> Array:
        """Values at the knots [B,N,count,A] -> values at every step [B,N,horizon,A], never outside the bounds."""
        if self.count == self.horizon or not isinstance(self.space, Box):
            return values
        before, share = self._between()
        after = np.minimum(before + 1, self.count - 1)
        share = as_like(share.astype(np.float32), values)[:, None]
        left, right = values[:, :, before], values[:, :, after]
        low, high = as_like(self.space.low, values), as_like(self.space.high, values)
        return namespace_of(values).clip(left + share * (right - left), low, high)

    @property
    def moments(self) -> np.ndarray:
        """The step each knot stands at."""
        return np.rint(np.linspace(0, self.horizon - 1, self.count)).astype(int)

    def _between(self) -> tuple[np.ndarray, np.ndarray]:
        """For each step the knot before it, and how far it lies towards the next."""
        moments, steps = self.moments, np.arange(self.horizon)
        before = np.searchsorted(moments, steps, side="right") - 1
        gaps = np.append(np.diff(moments), 1)
        return before, (steps - moments[before]) / gaps[before]


def with_remainder(drawn: Array, previous: Remainder | None, moments: np.ndarray) -> Array:
    """Draws [B,N,K,A] for K moments of the plan, the first of which follows what is left of the last plan."""
    if previous is None:
        return drawn
    drawn = copied(drawn)
    drawn[:, 0] = continued(previous, drawn[:, 0], moments)
    return drawn


def continued(previous: Remainder, otherwise: Array, moments: np.ndarray) -> Array:
    """What is left of each row's last plan at some moments [K] of it, and `otherwise` [B,K,A] where it has run out."""
    left = as_like(moments, otherwise)[None, :] < previous.lengths[:, None]
    return namespace_of(otherwise).where(left[:, :, None], previous.actions[:, moments], otherwise)


def uniform_actions(space: Space, uniforms: Array) -> Array:
    """Numbers [...,A] of a stream -> actions [...,A] as they travel, never outside the bounds."""
    xp = namespace_of(uniforms)
    if isinstance(space, Box):
        low, high = as_like(space.low, uniforms), as_like(space.high, uniforms)
        return xp.clip(low + uniforms * (high - low), low, high)
    return whole(uniforms * space.count)


@dataclass(frozen=True, eq=False)
class GaussianSequences:
    """Independent normals with a mean and deviation per row, step and component."""

    space: Box
    mean: Array  # [B,H,A]
    deviation: Array  # [B,H,A]

    @classmethod
    def start(
        cls, space: Box, problem: PlanningProblem, knots: Knots, previous: Remainder | None
    ) -> "GaussianSequences":
        """As wide as the box around its middle, or around what is left of the last plan."""
        xp = namespace_of(problem.like)
        low, high = as_like(space.low, problem.like), as_like(space.high, problem.like)
        batch, width = len(problem.streams), space.width
        mean = xp.broadcast_to((low + high) / 2, (batch, knots.count, width))
        if previous is not None:
            mean = continued(previous, mean, knots.moments)
        return cls(space, mean, xp.broadcast_to((high - low) / 2, (batch, knots.count, width)))

    @property
    def uniforms_per_action(self) -> int:
        """Box-Muller turns uniform numbers into normals pair by pair."""
        return self.space.width + self.space.width % 2

    def sample(self, uniforms: Array) -> Array:
        """Uniforms [B,N,H,A'] -> candidates [B,N,H,A]; the mean competes with its own samples."""
        xp = namespace_of(uniforms)
        low, high = as_like(self.space.low, uniforms), as_like(self.space.high, uniforms)
        noise = normals(uniforms)[..., : self.space.width]
        noise[:, 0] = 0
        return xp.clip(self.mean[:, None] + self.deviation[:, None] * noise, low, high)

    def refit(self, elites: Array, weights: Array, smoothing: float, min_deviation: float = 0.0) -> "GaussianSequences":
        """The distribution of the elites [B,E,H,A] by weight [B,E], mixed with `smoothing` parts of the old one.

        No deviation falls below `min_deviation` halves of the action's range.
        """
        xp = namespace_of(elites)
        known = (weights.sum(1) > 0)[:, None, None]
        weights = weights[:, :, None, None]
        mean = (weights * elites).sum(1)
        variance = (weights * (elites - mean[:, None]) ** 2).sum(1)
        mixed_mean = (1 - smoothing) * mean + smoothing * self.mean
        mixed_deviation = (1 - smoothing) * xp.sqrt(variance) + smoothing * self.deviation
        if min_deviation > 0:
            half_range = as_like((self.space.high - self.space.low) / 2, elites)
            mixed_deviation = xp.maximum(mixed_deviation, min_deviation * half_range)
        return GaussianSequences(
            self.space, xp.where(known, mixed_mean, self.mean), xp.where(known, mixed_deviation, self.deviation)
        )


@dataclass(frozen=True, eq=False)
class CategoricalSequences:
    """Independent choices with a probability per row, step and action."""

    space: Finite
    probabilities: Array  # [B,H,count]

    @classmethod
    def start(cls, space: Finite, problem: PlanningProblem) -> "CategoricalSequences":
        """Every action equally likely."""
        shape = (len(problem.streams), problem.horizon, space.count)
        return cls(space, as_like(np.full(shape, 1 / space.count, np.float32), problem.like))

    @property
    def uniforms_per_action(self) -> int:
        return 1

    def sample(self, uniforms: Array) -> Array:
        """Uniforms [B,N,H,1] -> candidates [B,N,H,1], by counting the thresholds each number passes."""
        thresholds = self.probabilities.cumsum(-1)
        chosen = whole(uniforms[..., 0] >= thresholds[:, None, :, 0])
        for action in range(1, self.space.count - 1):
            chosen += uniforms[..., 0] >= thresholds[:, None, :, action]
        return chosen[..., None]

    def refit(
        self, elites: Array, weights: Array, smoothing: float, min_deviation: float = 0.0
    ) -> "CategoricalSequences":
        """How often the elites [B,E,H,1] by weight [B,E] choose each action, with `smoothing` parts of uniform.

        A choice has no deviation: `min_deviation` belongs to a Box.
        """
        known = (weights.sum(1) > 0)[:, None, None]
        frequency = (weights[:, :, None, None] * one_hot(elites[..., 0], self.space.count)).sum(1)
        mixed = (1 - smoothing) * frequency + smoothing / self.space.count
        probabilities = namespace_of(elites).where(known, mixed, self.probabilities)
        return CategoricalSequences(self.space, probabilities)
