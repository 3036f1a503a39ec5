"""cem: the cross-entropy method, which draws again from a fit to its cheapest draws."""

from dataclasses import dataclass

from wmel.arrays import as_like
from wmel.contract.planner import Plan, PlanningProblem, Remainder
from wmel.contract.spaces import Box
from wmel.errors import require
from wmel.planners.categorical import CategoricalSequences
from wmel.planners.gaussian import GaussianSequences
from wmel.planners.selection import better, cheapest, elites, with_remainder


@dataclass(frozen=True)
class CEM:
    """Normal draws kept inside a Box, or one probability per Finite action; the best of all iterations is the plan."""

    horizon: int = 15
    iterations: int = 3
    candidates: int = 24
    elites: int = 6
    smoothing: float = 0.1
    warm_start: bool = False

    def __post_init__(self):
        require(self.horizon > 0, "the plan horizon must be positive", self.horizon)
        require(self.iterations > 0, "the number of iterations must be positive", self.iterations)
        require(self.candidates > 0, "the number of candidates must be positive", self.candidates)
        require(0 < self.elites <= self.candidates, f"elites must lie in 1..{self.candidates} candidates", self.elites)
        require(0 <= self.smoothing <= 1, "smoothing must lie in [0, 1]", self.smoothing)

    @property
    def evaluations(self) -> int:
        return self.iterations * self.candidates

    def plan(self, problem: PlanningProblem, previous: Remainder | None) -> Plan:
        remainder = previous if self.warm_start else None
        if isinstance(problem.space, Box):
            sequences = GaussianSequences.start(problem.space, problem, remainder)
        else:
            sequences = CategoricalSequences.start(problem.space, problem)
        shape = (self.candidates, problem.horizon, sequences.uniforms_per_action)
        rounds = as_like(problem.streams.uniforms("plan", shape, rounds=self.iterations), problem.like)
        best = None
        for uniforms in rounds:
            candidates = sequences.sample(uniforms)
            if best is None:
                candidates = with_remainder(candidates, remainder)
            outcome = problem.cost(candidates)
            challenger = cheapest(candidates, outcome)
            best = challenger if best is None else better(best, challenger)
            sequences = sequences.refit(*elites(candidates, outcome, self.elites), self.smoothing)
        assert best is not None
        return best
