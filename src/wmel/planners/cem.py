"""cem: the cross-entropy method, which samples again from a fit to its cheapest samples."""

from dataclasses import dataclass

from wmel.arrays import Array
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
from wmel.errors import require
from wmel.parts import accept_old_names, check_settings, refuse_unknown_settings, setting
from wmel.planners.search import Knots, Refinement, elites


@accept_old_names(horizon="plan_horizon")
@refuse_unknown_settings
@dataclass(frozen=True)
class CEM:
    """Normal samples kept inside a Box, or a probability per Finite action; the best of all iterations is the plan."""

    plan_horizon: PlanHorizon = 15
    iterations: Iterations = 3
    candidates: Candidates = 24
    elites: int | None = setting(None, "cheapest sequences the fit is made to; none: a quarter of them", at_least=1)
    smoothing: Smoothing = 0.1
    min_deviation: float = setting(
        0.0, "smallest deviation of a fit, in halves of the action's range (Box)", at_least=0, at_most=1
    )
    knots: KnotCount = None
    warm_start: WarmStart = None

    def __post_init__(self):
        check_settings(self)
        Knots.check(self.knots, self.plan_horizon)
        if self.elites is not None:
            require(self.elites <= self.candidates, f"elites must lie in 1..{self.candidates}", self.elites)

    @property
    def evaluations(self) -> int:
        return self.iterations * self.candidates

    def plan(self, problem: PlanningProblem, previous: Remainder | None) -> Plan:
        refinement = Refinement(self.iterations, self.candidates, self.smoothing, self.knots, self.min_deviation)
        return refinement.plan(problem, None if self.warm_start is False else previous, self._weigh)

    def _weigh(self, candidates: Array, outcome: CandidateCosts) -> tuple[Array, Array]:
        return elites(candidates, outcome, self.elites or max(1, self.candidates // 4))
