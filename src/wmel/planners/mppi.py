"""mppi: model-predictive path integral, which draws again around the average of its draws, cheap ones counting most."""

from dataclasses import dataclass

from wmel.arrays import Array, float32, namespace_of
from wmel.contract.planner import CandidateCosts, Plan, PlanningProblem, Remainder
from wmel.errors import require
from wmel.planners.refinement import Refinement
from wmel.planners.settings import check_drawing


@dataclass(frozen=True)
class MPPI:
    """Every candidate counts by exp(-(cost - lowest) / (temperature * spread of the costs)).

    The spread, a standard deviation, makes one temperature mean the same on every cost scale and in every iteration.
    """

    horizon: int = 15
    iterations: int = 3
    candidates: int = 64
    temperature: float = 0.25
    smoothing: float = 0.1
    knots: int | None = None
    warm_start: bool = False

    def __post_init__(self):
        check_drawing(self.horizon, self.candidates, self.knots, self.iterations)
        require(0 < self.temperature < float("inf"), "the temperature must be positive and finite", self.temperature)
        require(0 <= self.smoothing <= 1, "smoothing must lie in [0, 1]", self.smoothing)

    @property
    def evaluations(self) -> int:
        return self.iterations * self.candidates

    def plan(self, problem: PlanningProblem, previous: Remainder | None) -> Plan:
        refinement = Refinement(self.iterations, self.candidates, self.smoothing, self.knots)
        return refinement.plan(problem, previous if self.warm_start else None, self._weigh)

    def _weigh(self, candidates: Array, outcome: CandidateCosts) -> tuple[Array, Array]:
        xp = namespace_of(outcome.costs)
        finite = xp.isfinite(outcome.costs)
        costs = xp.where(finite, outcome.costs, 0)
        count = finite.sum(1).clip(1)[:, None]
        mean = costs.sum(1)[:, None] / count
        spread = xp.sqrt((xp.where(finite, costs - mean, 0) ** 2).sum(1)[:, None] / count)
        lowest = xp.amin(xp.where(finite, costs, xp.inf), axis=1)[:, None]
        scale = self.temperature * xp.where(spread > 0, spread, 1)
        weights = float32(xp.where(finite, xp.exp((xp.where(finite, lowest, 0) - costs) / scale), 0))
        return candidates, weights / weights.sum(1).clip(1)[:, None]
