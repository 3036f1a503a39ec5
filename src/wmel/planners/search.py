"""What planners share: distributions over action sequences, their refinement, and the choice among candidates."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wmel.arrays import Array, as_like, copy_array, namespace_of, one_hot, order_by_cost, pick, to_float32, to_int32
from wmel.contract.environment import Box, Finite, Space
from wmel.contract.planner import CandidateCosts, Plan, PlanningProblem, Remainder
from wmel.errors import BadInput
from wmel.randomness import normals

Weigh = Callable[[Array, CandidateCosts], tuple[Array, Array]]  # candidates, costs -> those that teach, their weights


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
    drawn = copy_array(drawn)
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
    return to_int32(uniforms * space.count)


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
        low, high = (self._each_step(bound, uniforms) for bound in (self.space.low, self.space.high))
        noise = normals(uniforms)[..., : self.space.width]
        noise[:, 0] = 0
        noise *= self.deviation[:, None]
        noise += self.mean[:, None]
        return xp.clip(noise, low, high, out=noise)

    def _each_step(self, bound: Array, like: Array) -> Array:
        """A bound [A] written out for every step [H,A]: numpy is slow along an axis as short as an action."""
        return as_like(np.ascontiguousarray(np.broadcast_to(bound, self.mean.shape[1:])), like)

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
        chosen = to_int32(uniforms[..., 0] >= thresholds[:, None, :, 0])
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


def usable(costs: Array) -> Array:
    """Costs with NaN and both infinities turned into +inf, the worst there is."""
    xp = namespace_of(costs)
    return xp.where(xp.isfinite(costs), costs, xp.inf)


def cheapest(candidates: Array, outcome: CandidateCosts) -> Plan:
    """The first cheapest candidate of each row: candidates [B,N,H,A]."""
    costs = usable(outcome.costs)
    winner = namespace_of(costs).arange(len(costs), device=costs.device), costs.argmin(1)
    return Plan(candidates[winner], outcome.lengths[winner], costs[winner])


def elites(candidates: Array, outcome: CandidateCosts, count: int) -> tuple[Array, Array]:
    """The `count` cheapest candidates of each row [B,count,H,A] and their weights [B,count].

    Usable ones share a weight of 1; the rest have none, so that a row of unusable costs teaches nothing.
    """
    costs = usable(outcome.costs)
    order = order_by_cost(costs)[:, :count]
    counted = to_float32(namespace_of(costs).isfinite(pick(costs, order)))
    return pick(candidates, order), counted / counted.sum(1).clip(1)[:, None]


def better(held: Plan, challenger: Plan) -> Plan:
    """Row by row the strictly cheaper of two plans; the held one wins ties."""
    xp = namespace_of(held.costs)
    wins = challenger.costs < held.costs
    return Plan(
        xp.where(wins[:, None, None], challenger.actions, held.actions),
        xp.where(wins, challenger.lengths, held.lengths),
        xp.where(wins, challenger.costs, held.costs),
    )


@dataclass(frozen=True)
class Refinement:
    """How often and how widely to draw; what is learned from a draw is up to the planner."""

    iterations: int
    candidates: int
    smoothing: float
    knots: int | None
    min_deviation: float = 0.0  # of the fits, in halves of the action's range

    def plan(self, problem: PlanningProblem, remainder: Remainder | None, weigh: Weigh) -> Plan:
        """The cheapest candidate of all iterations."""
        knots = Knots.over(self.knots, problem.horizon, problem.space)
        sequences = _start(problem, knots, remainder)
        shape = (self.candidates, knots.count, sequences.uniforms_per_action)
        rounds = as_like(problem.streams.uniforms("plan", shape, rounds=self.iterations), problem.like)
        best = None
        for place, uniforms in enumerate(rounds, start=1):
            drawn = sequences.sample(uniforms)
            if best is None:
                drawn = with_remainder(drawn, remainder, knots.moments)
            candidates = knots.spread(drawn)
            outcome = problem.cost(candidates)
            challenger = cheapest(candidates, outcome)
            best = challenger if best is None else better(best, challenger)
            if place < self.iterations:
                sequences = sequences.refit(*weigh(drawn, outcome), self.smoothing, self.min_deviation)
        assert best is not None, "there is at least one iteration"
        return best


def _start(
    problem: PlanningProblem, knots: Knots, remainder: Remainder | None
) -> GaussianSequences | CategoricalSequences:
    if not isinstance(problem.space, Box):
        return CategoricalSequences.start(problem.space, problem)
    return GaussianSequences.start(problem.space, problem, knots, remainder)
