"""random-shooting: samples action sequences uniformly and returns the cheapest."""

from dataclasses import dataclass

from wmel.arrays import as_like
from wmel.catalog import PRESETS
from wmel.contract.planner import Candidates, KnotCount, Plan, PlanHorizon, PlanningProblem, Remainder, WarmStart
from wmel.parts import accept_old_names, refuse_unknown_settings
from wmel.planners.search import Knots, cheapest, check_planner, insert_remainder, uniform_actions


@accept_old_names(horizon="plan_horizon")
@refuse_unknown_settings
@dataclass(frozen=True)
class RandomShooting:
    """Samples action sequences uniformly and returns the cheapest."""

    plan_horizon: PlanHorizon = 15
    candidates: Candidates = 50
    knots: KnotCount = None
    warm_start: WarmStart = None

    def __post_init__(self):
        check_planner(self)

    @property
    def evaluations(self) -> int:
        return self.candidates

    def plan(self, problem: PlanningProblem, previous: Remainder | None) -> Plan:
        knots = Knots.over(self.knots, problem.horizon, problem.space)
        uniforms = problem.streams.uniforms("plan", (self.candidates, knots.count, problem.space.width))
        samples = uniform_actions(problem.space, as_like(uniforms[0], problem.like))
        remainder = None if self.warm_start is False else previous
        candidates = knots.interpolate(insert_remainder(samples, remainder, knots.steps))
        return cheapest(candidates, problem.cost(candidates))


TABULAR = PRESETS["tabular-world-model"]["random-shooting"]


def tabular_world_model(
    plan_horizon: PlanHorizon = TABULAR["plan_horizon"],
    candidates: Candidates = TABULAR["candidates"],
    knots: KnotCount = None,
    warm_start: WarmStart = None,
) -> RandomShooting:
    """A preset: random shooting on grids, as in the wmel 0.18 repository."""
    return RandomShooting(plan_horizon, candidates, knots, warm_start)
