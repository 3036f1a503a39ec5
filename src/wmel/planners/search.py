"""What planners share: iterative refinement, and the choice of the best candidate."""

from collections.abc import Callable
from dataclasses import dataclass

from wmel.arrays import Array, as_like, best_first, float32, namespace_of, pick
from wmel.contract.environment import Box
from wmel.contract.planner import CandidateCosts, Plan, PlanningProblem, Remainder
from wmel.planners.distributions import CategoricalSequences, GaussianSequences, Knots, with_remainder

Weigh = Callable[[Array, CandidateCosts], tuple[Array, Array]]  # candidates, costs -> those that teach, their weights


def usable(costs: Array) -> Array:
    """Costs with NaN and both infinities turned into +inf, the worst there is."""
    xp = namespace_of(costs)
    return xp.where(xp.isfinite(costs), costs, xp.inf)


def cheapest(candidates: Array, outcome: CandidateCosts) -> Plan:
    """The first cheapest candidate of each row: candidates [B,N,H,A]."""
    costs = usable(outcome.costs)
    winner = namespace_of(costs).arange(len(costs), device=costs.device), costs.argmin(1)
    return Plan(candidates[winner], outcome.lengths[winner], costs[winner])


def elites(candidates: Array, outcome: CandidateCosts, count: int) -> tuple[Array, Array]:
    """The `count` cheapest candidates of each row [B,count,H,A] and their weights [B,count].

    Usable ones share a weight of 1; the rest have none, so that a row of unusable costs teaches nothing.
    """
    costs = usable(outcome.costs)
    order = best_first(costs)[:, :count]
    counted = float32(namespace_of(costs).isfinite(pick(costs, order)))
    return pick(candidates, order), counted / counted.sum(1).clip(1)[:, None]


def better(held: Plan, challenger: Plan) -> Plan:
    """Row by row the strictly cheaper of two plans; the held one wins ties."""
    xp = namespace_of(held.costs)
    wins = challenger.costs < held.costs
    return Plan(
        xp.where(wins[:, None, None], challenger.actions, held.actions),
        xp.where(wins, challenger.lengths, held.lengths),
        xp.where(wins, challenger.costs, held.costs),
    )


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
