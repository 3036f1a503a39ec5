"""Fewer numbers for a long plan: actions are drawn at knots and interpolated linearly between them."""

from dataclasses import dataclass

import numpy as np

from wmel.arrays import Array, as_like, namespace_of
from wmel.contract.spaces import Box, Space
from wmel.errors import BadInput


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
