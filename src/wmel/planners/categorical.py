"""Action sequences drawn from a table of probabilities per step, for finite actions."""

from dataclasses import dataclass

import numpy as np

from wmel.arrays import Array, as_like, namespace_of, one_hot, whole
from wmel.contract.planner import PlanningProblem
from wmel.contract.spaces import Finite


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
