"""Action sequences drawn from a normal distribution per step and kept inside the bounds."""

from dataclasses import dataclass

from wmel.arrays import Array, as_like, namespace_of
from wmel.contract.planner import PlanningProblem, Remainder
from wmel.contract.spaces import Box
from wmel.planners.knots import Knots
from wmel.planners.selection import continued
from wmel.randomness import normals


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
