"""random-shooting: draw sequences uniformly and keep the cheapest."""

from dataclasses import dataclass

from wmel.arrays import as_like
from wmel.catalog import PRESETS
from wmel.contract.planner import Candidates, KnotCount, Plan, PlanHorizon, PlanningProblem, Remainder, WarmStart
from wmel.parts import accept_old_names, check_settings, refuse_unknown_settings
from wmel.planners.search import Knots, cheapest, uniform_actions, with_remainder


@accept_old_names(horizon="plan_horizon")
@refuse_unknown_settings
@dataclass(frozen=True)
class RandomShooting:
    """Draw sequences uniformly and keep the cheapest."""

    plan_horizon: PlanHorizon = 15
    candidates: Candidates = 50
    knots: KnotCount = None
    warm_start: WarmStart = None

    def __post_init__(self):
        check_settings(self)
        Knots.check(self.knots, self.plan_horizon)

    @property
    def evaluations(self) -> int:
        return self.candidates

    def plan(self, problem: PlanningProblem, previous: Remainder | None) -> Plan:
        knots = Knots.over(self.knots, problem.horizon, problem.space)
        uniforms = problem.streams.uniforms("plan", (self.candidates, knots.count, problem.space.width))
        drawn = uniform_actions(problem.space, as_like(uniforms[0], problem.like))
        remainder = None if self.warm_start is False else previous
        candidates = knots.spread(with_remainder(drawn, remainder, knots.moments))
        return cheapest(candidates, problem.cost(candidates))


TABULAR = PRESETS["tabular-world-model"]["random-shooting"]


def tabular_world_model(
    plan_horizon: PlanHorizon = TABULAR["plan_horizon"],
    candidates: Candidates = TABULAR["candidates"],
    knots: KnotCount = None,
    warm_start: WarmStart = None,
) -> RandomShooting:
    """A preset: random shooting as the documents use it on grids."""
    return RandomShooting(plan_horizon, candidates, knots, warm_start)
