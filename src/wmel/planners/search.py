"""Search over action sequences: knots, distributions and their refinement, and the choice of the cheapest candidate."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wmel.arrays import Array, as_like, copy_array, namespace_of, one_hot, order_by_cost, pick, to_float32, to_int32
from wmel.contract.environment import Box, Finite, Space
from wmel.contract.planner import CandidateCosts, Plan, PlanningProblem, Remainder
from wmel.errors import BadInput
from wmel.randomness import normals
from wmel.settings import check_settings

Weighting = Callable[[Array, CandidateCosts], tuple[Array, Array]]  # samples, costs -> samples to fit, their weights


def check_planner(planner: Any) -> None:
    """Checks and converts the settings of a planner. Call it in `__post_init__`."""
    check_settings(planner)
    Knots.check(planner.knots, planner.plan_horizon)


@dataclass(frozen=True)
class Knots:
    """`count` evenly spaced steps of a horizon, which include its first and last step."""

    count: int
    horizon: int
    space: Space

    @classmethod
    def over(cls, knots: int | None, horizon: int, space: Space) -> "Knots":
        """The given number of knots, at most one per step. None: one per step."""
        if knots is not None and not isinstance(space, Box):
            raise BadInput("knots interpolate between actions, which requires a Box: this action space is finite")
        return cls(horizon if knots is None else min(knots, horizon), horizon, space)

    @staticmethod
    def check(knots: int | None, horizon: int) -> None:
        """Raises BadInput for fewer than two knots, unless a plan has one step."""
        if knots is not None and knots < 2 and knots != horizon:
            raise BadInput(f"knots must be at least 2, or the number of steps of a plan ({horizon}), got {knots}")

    def interpolate(self, values: Array) -> Array:
        """Interpolates linearly: values at the knots [B,N,count,A] -> at every step [B,N,horizon,A], within bounds."""
        if self.count == self.horizon or not isinstance(self.space, Box):
            return values
        before, weight = self._interpolation_weights()
        after = np.minimum(before + 1, self.count - 1)
        weight = as_like(weight.astype(np.float32), values)[:, None]
        left, right = values[:, :, before], values[:, :, after]
        low, high = as_like(self.space.low, values), as_like(self.space.high, values)
        return namespace_of(values).clip(left + weight * (right - left), low, high)

    @property
    def steps(self) -> np.ndarray:
        """The step of each knot [count]."""
        return np.rint(np.linspace(0, self.horizon - 1, self.count)).astype(int)

    def _interpolation_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """For each step the index of the knot before it, and the weight of the next knot: [horizon] each."""
        knots, steps = self.steps, np.arange(self.horizon)
        before = np.searchsorted(knots, steps, side="right") - 1
        gaps = np.append(np.diff(knots), 1)
        return before, (steps - knots[before]) / gaps[before]


def insert_remainder(samples: Array, previous: Remainder | None, steps: np.ndarray) -> Array:
    """The samples [B,N,K,A], of which the first continues the last plan. `steps` [K] are the steps of the samples."""
    if previous is None:
        return samples
    samples = copy_array(samples)
    samples[:, 0] = continue_plan(previous, samples[:, 0], steps)
    return samples


def continue_plan(previous: Remainder, default: Array, steps: np.ndarray) -> Array:
    """The actions of the remainder at `steps` [K], and `default` [B,K,A] after its end."""
    is_left = as_like(steps, default)[None, :] < previous.lengths[:, None]
    return namespace_of(default).where(is_left[:, :, None], previous.actions[:, steps], default)


def uniform_actions(space: Space, uniforms: Array) -> Array:
    """Uniforms [...,A] of a stream -> actions [...,A], uniform over the space."""
    xp = namespace_of(uniforms)
    if isinstance(space, Box):
        low, high = as_like(space.low, uniforms), as_like(space.high, uniforms)
        return xp.clip(low + uniforms * (high - low), low, high)
    return to_int32(uniforms * space.count)


@dataclass(frozen=True, eq=False)
class GaussianSequences:
    """Independent normal distributions, with a mean and standard deviation per row, step and component."""

    space: Box
    mean: Array  # [B,H,A]
    deviation: Array  # [B,H,A]

    @classmethod
    def start(
        cls, space: Box, problem: PlanningProblem, knots: Knots, previous: Remainder | None
    ) -> "GaussianSequences":
        """The mean is the middle of the box, or the remainder of the last plan. The deviation is half the range."""
        xp = namespace_of(problem.like)
        low, high = as_like(space.low, problem.like), as_like(space.high, problem.like)
        batch, width = len(problem.streams), space.width
        mean = xp.broadcast_to((low + high) / 2, (batch, knots.count, width))
        if previous is not None:
            mean = continue_plan(previous, mean, knots.steps)
        return cls(space, mean, xp.broadcast_to((high - low) / 2, (batch, knots.count, width)))

    @property
    def uniforms_per_action(self) -> int:
        """Rounded up to an even number: Box-Muller converts pairs."""
        return self.space.width + self.space.width % 2

    def sample(self, uniforms: Array) -> Array:
        """Uniforms [B,N,H,A'] -> samples [B,N,H,A]. The first sample is the mean."""
        xp = namespace_of(uniforms)
        low, high = (self._each_step(bound, uniforms) for bound in (self.space.low, self.space.high))
        noise = normals(uniforms)[..., : self.space.width]
        noise[:, 0] = 0
        noise *= self.deviation[:, None]
        noise += self.mean[:, None]
        return xp.clip(noise, low, high, out=noise)

    def _each_step(self, bound: Array, like: Array) -> Array:
        """A bound [A] repeated for every step [H,A]: numpy is slow along a short axis."""
        return as_like(np.ascontiguousarray(np.broadcast_to(bound, self.mean.shape[1:])), like)

    def refit(
        self, samples: Array, weights: Array, smoothing: float, min_deviation: float = 0.0
    ) -> "GaussianSequences":
        """The fit to samples [B,E,H,A] with weights [B,E], mixed with `smoothing` parts of the old distribution.

        Deviations are at least `min_deviation`, in halves of the action's range. Rows without weight do not change.
        """
        xp = namespace_of(samples)
        has_weight = (weights.sum(1) > 0)[:, None, None]
        weights = weights[:, :, None, None]
        mean = (weights * samples).sum(1)
        variance = (weights * (samples - mean[:, None]) ** 2).sum(1)
        mixed_mean = (1 - smoothing) * mean + smoothing * self.mean
        mixed_deviation = (1 - smoothing) * xp.sqrt(variance) + smoothing * self.deviation
        if min_deviation > 0:
            half_range = as_like((self.space.high - self.space.low) / 2, samples)
            mixed_deviation = xp.maximum(mixed_deviation, min_deviation * half_range)
        return GaussianSequences(
            self.space,
            xp.where(has_weight, mixed_mean, self.mean),
            xp.where(has_weight, mixed_deviation, self.deviation),
        )


@dataclass(frozen=True, eq=False)
class CategoricalSequences:
    """Independent categorical distributions, with a probability per row, step and action."""

    space: Finite
    probabilities: Array  # [B,H,count]

    @classmethod
    def start(cls, space: Finite, problem: PlanningProblem) -> "CategoricalSequences":
        """The uniform distribution."""
        shape = (len(problem.streams), problem.horizon, space.count)
        return cls(space, as_like(np.full(shape, 1 / space.count, np.float32), problem.like))

    @property
    def uniforms_per_action(self) -> int:
        return 1

    def sample(self, uniforms: Array) -> Array:
        """Uniforms [B,N,H,1] -> samples [B,N,H,1]: the number of cumulative probabilities that each uniform reaches."""
        thresholds = self.probabilities.cumsum(-1)
        actions = to_int32(uniforms[..., 0] >= thresholds[:, None, :, 0])
        for action in range(1, self.space.count - 1):
            actions += uniforms[..., 0] >= thresholds[:, None, :, action]
        return actions[..., None]

    def refit(
        self, samples: Array, weights: Array, smoothing: float, min_deviation: float = 0.0
    ) -> "CategoricalSequences":
        """The frequencies in samples [B,E,H,1] with weights [B,E], mixed with `smoothing` parts of uniform.

        `min_deviation` applies to a Box only. Rows without weight do not change.
        """
        has_weight = (weights.sum(1) > 0)[:, None, None]
        frequency = (weights[:, :, None, None] * one_hot(samples[..., 0], self.space.count)).sum(1)
        mixed = (1 - smoothing) * frequency + smoothing / self.space.count
        probabilities = namespace_of(samples).where(has_weight, mixed, self.probabilities)
        return CategoricalSequences(self.space, probabilities)


def replace_non_finite(costs: Array) -> Array:
    """Costs with NaN and infinities replaced by +inf, so that they rank last."""
    xp = namespace_of(costs)
    return xp.where(xp.isfinite(costs), costs, xp.inf)


def cheapest(candidates: Array, outcome: CandidateCosts) -> Plan:
    """The cheapest of the candidates [B,N,H,A] of each row, the first among equals."""
    costs = replace_non_finite(outcome.costs)
    index = namespace_of(costs).arange(len(costs), device=costs.device), costs.argmin(1)
    return Plan(candidates[index], outcome.lengths[index], costs[index])


def select_elites(candidates: Array, outcome: CandidateCosts, count: int) -> tuple[Array, Array]:
    """The `count` cheapest candidates of each row [B,count,H,A] and their weights [B,count].

    Candidates with a finite cost share a weight of 1, the others have weight 0.
    """
    costs = replace_non_finite(outcome.costs)
    order = order_by_cost(costs)[:, :count]
    weights = to_float32(namespace_of(costs).isfinite(pick(costs, order)))
    return pick(candidates, order), weights / weights.sum(1).clip(1)[:, None]


def choose_cheaper(first: Plan, second: Plan) -> Plan:
    """The cheaper of two plans, row by row; the first if the costs are equal."""
    xp = namespace_of(first.costs)
    is_cheaper = second.costs < first.costs
    return Plan(
        xp.where(is_cheaper[:, None, None], second.actions, first.actions),
        xp.where(is_cheaper, second.lengths, first.lengths),
        xp.where(is_cheaper, second.costs, first.costs),
    )


@dataclass(frozen=True)
class Refinement:
    """Repeated sampling from a distribution and refitting of it. The planner weighs the samples."""

    iterations: int
    candidates: int
    smoothing: float
    knots: int | None
    min_deviation: float = 0.0  # of the fits, in halves of the action's range

    def plan(self, problem: PlanningProblem, remainder: Remainder | None, weigh: Weighting) -> Plan:
        """The cheapest candidate of all iterations. `weigh` returns the samples to fit, and their weights."""
        knots = Knots.over(self.knots, problem.horizon, problem.space)
        sequences = _start(problem, knots, remainder)
        shape = (self.candidates, knots.count, sequences.uniforms_per_action)
        rounds = as_like(problem.streams.uniforms("plan", shape, rounds=self.iterations), problem.like)
        best = None
        for iteration, uniforms in enumerate(rounds, start=1):
            samples = sequences.sample(uniforms)
            if best is None:
                samples = insert_remainder(samples, remainder, knots.steps)
            candidates = knots.interpolate(samples)
            outcome = problem.cost(candidates)
            plan = cheapest(candidates, outcome)
            best = plan if best is None else choose_cheaper(best, plan)
            if iteration < self.iterations:
                sequences = sequences.refit(*weigh(samples, outcome), self.smoothing, self.min_deviation)
        assert best is not None, "there is at least one iteration"
        return best


def _start(
    problem: PlanningProblem, knots: Knots, remainder: Remainder | None
) -> GaussianSequences | CategoricalSequences:
    if not isinstance(problem.space, Box):
        return CategoricalSequences.start(problem.space, problem)
    return GaussianSequences.start(problem.space, problem, knots, remainder)
