"""mppi: model-predictive path integral control, which refits a distribution to all samples, weighted by cost."""

from dataclasses import dataclass
from math import inf

from wmel.arrays import Array, namespace_of, to_float32
from wmel.contract import planner as contract
from wmel.parts import accept_old_names, refuse_unknown_settings, setting
from wmel.planners.search import Refinement, check_planner


@accept_old_names(horizon="plan_horizon")
@refuse_unknown_settings
@dataclass(frozen=True)
class MPPI:
    """The weight of a candidate is exp(-(cost - lowest) / (temperature * deviation)), normalised to a sum of 1.

    The standard deviation of the costs makes the temperature independent of their scale.
    """

    plan_horizon: contract.PlanHorizon = 15
    iterations: contract.Iterations = 3
    candidates: contract.Candidates = 64
    temperature: float = setting(
        0.25, "how much costlier candidates still count, in deviations of the costs", above=0, below=inf
    )
    smoothing: contract.Smoothing = 0.1
    knots: contract.KnotCount = None
    warm_start: contract.WarmStart = None

    def __post_init__(self):
        check_planner(self)

    @property
    def evaluations(self) -> int:
        return self.iterations * self.candidates

    def plan(self, problem: contract.PlanningProblem, previous: contract.Remainder | None) -> contract.Plan:
        refinement = Refinement(self.iterations, self.candidates, self.smoothing, self.knots)
        return refinement.plan(problem, None if self.warm_start is False else previous, self._weigh)

    def _weigh(self, candidates: Array, outcome: contract.CandidateCosts) -> tuple[Array, Array]:
        xp = namespace_of(outcome.costs)
        finite = xp.isfinite(outcome.costs)
        costs = xp.where(finite, outcome.costs, 0)
        count = finite.sum(1).clip(1)[:, None]
        mean = costs.sum(1)[:, None] / count
        deviation = xp.sqrt((xp.where(finite, costs - mean, 0) ** 2).sum(1)[:, None] / count)
        lowest = xp.amin(xp.where(finite, costs, xp.inf), axis=1)[:, None]
        scale = self.temperature * xp.where(deviation > 0, deviation, 1)
        weights = to_float32(xp.where(finite, xp.exp((xp.where(finite, lowest, 0) - costs) / scale), 0))
        return candidates, weights / weights.sum(1).clip(1)[:, None]
