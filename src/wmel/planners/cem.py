"""cem: the cross-entropy method, which samples from a distribution and refits it to the cheapest samples."""

from dataclasses import dataclass

from wmel.arrays import Array
from wmel.contract import planner as contract
from wmel.errors import require
from wmel.parts import accept_old_names, refuse_unknown_settings, setting
from wmel.planners.search import Refinement, check_planner, select_elites


@accept_old_names(horizon="plan_horizon")
@refuse_unknown_settings
@dataclass(frozen=True)
class CEM:
    """A normal distribution per component of a Box, clipped to it, or a probability per Finite action.

    The plan is the cheapest sample of all iterations.
    """

    plan_horizon: contract.PlanHorizon = 15
    iterations: contract.Iterations = 3
    candidates: contract.Candidates = 24
    elites: int | None = setting(None, "cheapest sequences the fit is made to; none: a quarter of them", at_least=1)
    smoothing: contract.Smoothing = 0.1
    min_deviation: float = setting(
        0.0, "smallest deviation of a fit, in halves of the action's range (Box)", at_least=0, at_most=1
    )
    knots: contract.KnotCount = None
    warm_start: contract.WarmStart = None

    def __post_init__(self):
        check_planner(self)
        if self.elites is not None:
            require(self.elites <= self.candidates, f"elites must lie in 1..{self.candidates}", self.elites)

    @property
    def evaluations(self) -> int:
        return self.iterations * self.candidates

    def plan(self, problem: contract.PlanningProblem, previous: contract.Remainder | None) -> contract.Plan:
        refinement = Refinement(self.iterations, self.candidates, self.smoothing, self.knots, self.min_deviation)
        return refinement.plan(problem, None if self.warm_start is False else previous, self._weigh)

    def _weigh(self, candidates: Array, outcome: contract.CandidateCosts) -> tuple[Array, Array]:
        return select_elites(candidates, outcome, self.elites or max(1, self.candidates // 4))
