"""mppi: model-predictive path integral, which draws again around the average of its draws, cheap ones counting most."""

from dataclasses import dataclass
from math import inf

from wmel.arrays import Array, namespace_of, to_float32
from wmel.contract.planner import (
    CandidateCosts,
    Candidates,
    Iterations,
    KnotCount,
    Plan,
    PlanHorizon,
    PlanningProblem,
    Remainder,
    Smoothing,
    WarmStart,
)
from wmel.parts import accept_old_names, check_settings, refuse_unknown_settings, setting
from wmel.planners.search import Knots, Refinement


@accept_old_names(horizon="plan_horizon")
@refuse_unknown_settings
@dataclass(frozen=True)
class MPPI:
    """Every candidate counts by exp(-(cost - lowest) / (temperature * spread of the costs)).

    The spread, a standard deviation, makes one temperature mean the same on every cost scale and in every iteration.
    """

    plan_horizon: PlanHorizon = 15
    iterations: Iterations = 3
    candidates: Candidates = 64
    temperature: float = setting(
        0.25, "how much costlier candidates still count, in deviations of the costs", above=0, below=inf
    )
    smoothing: Smoothing = 0.1
    knots: KnotCount = None
    warm_start: WarmStart = None

    def __post_init__(self):
        check_settings(self)
        Knots.check(self.knots, self.plan_horizon)

    @property
    def evaluations(self) -> int:
        return self.iterations * self.candidates

    def plan(self, problem: PlanningProblem, previous: Remainder | None) -> Plan:
        refinement = Refinement(self.iterations, self.candidates, self.smoothing, self.knots)
        return refinement.plan(problem, None if self.warm_start is False else previous, self._weigh)

    def _weigh(self, candidates: Array, outcome: CandidateCosts) -> tuple[Array, Array]:
        xp = namespace_of(outcome.costs)
        finite = xp.isfinite(outcome.costs)
        costs = xp.where(finite, outcome.costs, 0)
        count = finite.sum(1).clip(1)[:, None]
        mean = costs.sum(1)[:, None] / count
        spread = xp.sqrt((xp.where(finite, costs - mean, 0) ** 2).sum(1)[:, None] / count)
        lowest = xp.amin(xp.where(finite, costs, xp.inf), axis=1)[:, None]
        scale = self.temperature * xp.where(spread > 0, spread, 1)
        weights = to_float32(xp.where(finite, xp.exp((xp.where(finite, lowest, 0) - costs) / scale), 0))
        return candidates, weights / weights.sum(1).clip(1)[:, None]
