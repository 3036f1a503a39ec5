"""A planner as a plugin may bring it: a class that is no dataclass and says nothing of its settings' types."""

from wmel.planners.search import cheapest, uniform_actions


class Plain:
    """Samples a few sequences and keeps the cheapest."""

    warm_start = False

    def __init__(self, plan_horizon=6, candidates=9, note=None):
        self.plan_horizon, self.candidates, self.note = plan_horizon, candidates, note
        self.evaluations = candidates

    def plan(self, problem, previous):
        uniforms = problem.streams.uniforms("plan", (self.candidates, problem.horizon, problem.space.width))[0]
        sampled = uniform_actions(problem.space, uniforms)
        return cheapest(sampled, problem.cost(sampled))
