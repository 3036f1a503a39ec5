"""cem: the cross-entropy method, which draws again from a fit to its cheapest draws."""

from dataclasses import dataclass

from wmel.arrays import Array
from wmel.contract.planner import CandidateCosts, Plan, PlanningProblem, Remainder
from wmel.errors import require, require_whole
from wmel.planners.refinement import Refinement
from wmel.planners.selection import elites
from wmel.planners.settings import check_drawing


@dataclass(frozen=True)
class CEM:
    """Normal draws kept inside a Box, or one probability per Finite action; the best of all iterations is the plan."""

    horizon: int = 15
    iterations: int = 3
    candidates: int = 24
    elites: int | None = None  # a quarter of the candidates
    smoothing: float = 0.1
    knots: int | None = None
    warm_start: bool = False

    def __post_init__(self):
        check_drawing(self.horizon, self.candidates, self.knots, self.iterations)
        if self.elites is not None:
            require_whole(self.elites, "the number of elites")
            require(self.elites <= self.candidates, f"elites must lie in 1..{self.candidates}", self.elites)
        require(0 <= self.smoothing <= 1, "smoothing must lie in [0, 1]", self.smoothing)

    @property
    def evaluations(self) -> int:
        return self.iterations * self.candidates

    def plan(self, problem: PlanningProblem, previous: Remainder | None) -> Plan:
        refinement = Refinement(self.iterations, self.candidates, self.smoothing, self.knots)
        return refinement.plan(problem, previous if self.warm_start else None, self._weigh)

    def _weigh(self, candidates: Array, outcome: CandidateCosts) -> tuple[Array, Array]:
        return elites(candidates, outcome, self.elites or max(1, self.candidates // 4))
