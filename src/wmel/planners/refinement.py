"""What the iterating planners share: draw, evaluate, refit, keep the best."""

from collections.abc import Callable
from dataclasses import dataclass

from wmel.arrays import Array, as_like
from wmel.contract.planner import CandidateCosts, Plan, PlanningProblem, Remainder
from wmel.contract.spaces import Box
from wmel.planners.categorical import CategoricalSequences
from wmel.planners.gaussian import GaussianSequences
from wmel.planners.knots import Knots
from wmel.planners.selection import better, cheapest, with_remainder

Weigh = Callable[[Array, CandidateCosts], tuple[Array, Array]]  # candidates, costs -> those that teach, their weights


@dataclass(frozen=True)
class Refinement:
    """How often and how widely to draw; what is learned from a draw is up to the planner."""

    iterations: int
    candidates: int
    smoothing: float
    knots: int | None
    min_deviation: float = 0.0  # of the fits, in halves of the action's range

    def plan(self, problem: PlanningProblem, remainder: Remainder | None, weigh: Weigh) -> Plan:
        """The cheapest candidate of all iterations."""
        knots = Knots.over(self.knots, problem.horizon, problem.space)
        sequences = _start(problem, knots, remainder)
        shape = (self.candidates, knots.count, sequences.uniforms_per_action)
        rounds = as_like(problem.streams.uniforms("plan", shape, rounds=self.iterations), problem.like)
        best = None
        for place, uniforms in enumerate(rounds, start=1):
            drawn = sequences.sample(uniforms)
            if best is None:
                drawn = with_remainder(drawn, remainder, knots.moments)
            candidates = knots.spread(drawn)
            outcome = problem.cost(candidates)
            challenger = cheapest(candidates, outcome)
            best = challenger if best is None else better(best, challenger)
            if place < self.iterations:
                sequences = sequences.refit(*weigh(drawn, outcome), self.smoothing, self.min_deviation)
        assert best is not None, "there is at least one iteration"
        return best


def _start(
    problem: PlanningProblem, knots: Knots, remainder: Remainder | None
) -> GaussianSequences | CategoricalSequences:
    if not isinstance(problem.space, Box):
        return CategoricalSequences.start(problem.space, problem)
    return GaussianSequences.start(problem.space, problem, knots, remainder)
