"""random-shooting: draw sequences uniformly and keep the cheapest."""

from dataclasses import dataclass

from wmel.arrays import as_like
from wmel.contract.planner import Plan, PlanningProblem, Remainder
from wmel.planners.knots import Knots
from wmel.planners.selection import cheapest, with_remainder
from wmel.planners.settings import check_drawing
from wmel.planners.uniform import uniform_actions


@dataclass(frozen=True)
class RandomShooting:
    """Draw sequences uniformly and keep the cheapest."""

    horizon: int = 20
    candidates: int = 200
    knots: int | None = None
    warm_start: bool = False

    def __post_init__(self):
        check_drawing(self.horizon, self.candidates, self.knots)

    @property
    def evaluations(self) -> int:
        return self.candidates

    def plan(self, problem: PlanningProblem, previous: Remainder | None) -> Plan:
        knots = Knots.over(self.knots, problem.horizon, problem.space)
        uniforms = problem.streams.uniforms("plan", (self.candidates, knots.count, problem.space.width))
        drawn = uniform_actions(problem.space, as_like(uniforms[0], problem.like))
        if self.warm_start:
            drawn = with_remainder(drawn, previous, knots.moments)
        candidates = knots.spread(drawn)
        return cheapest(candidates, problem.cost(candidates))
