"""random-shooting: draw sequences uniformly and keep the cheapest."""

from dataclasses import dataclass

from wmel.arrays import as_like
from wmel.contract.planner import Plan, PlanningProblem, Remainder
from wmel.errors import require
from wmel.planners.selection import cheapest, with_remainder
from wmel.planners.uniform import uniform_actions


@dataclass(frozen=True)
class RandomShooting:
    """Draw sequences uniformly and keep the cheapest."""

    horizon: int = 20
    candidates: int = 200
    warm_start: bool = False

    def __post_init__(self):
        require(self.horizon > 0, "the plan horizon must be positive", self.horizon)
        require(self.candidates > 0, "the number of candidates must be positive", self.candidates)

    @property
    def evaluations(self) -> int:
        return self.candidates

    def plan(self, problem: PlanningProblem, previous: Remainder | None) -> Plan:
        uniforms = problem.streams.uniforms("plan", (self.candidates, problem.horizon, problem.space.width))
        candidates = uniform_actions(problem.space, as_like(uniforms[0], problem.like))
        if self.warm_start:
            candidates = with_remainder(candidates, previous)
        return cheapest(candidates, problem.cost(candidates))
