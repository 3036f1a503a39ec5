"""A model, two planners, a policy, a perturbation, a metric and an executor."""

from dataclasses import dataclass, replace

import numpy as np

from wmel import Estimate
from wmel.contract.policy import Decision
from wmel.perturbations import NoEffect
from wmel.planners.search import cheapest, uniform_actions


def right_walker(state, action):
    """Believes that every action moves one cell to the right."""
    return state + np.array([1, 0], state.dtype)


@dataclass(frozen=True)
class FirstDraw:
    """Draws a few sequences and keeps the cheapest."""

    plan_horizon: int = 10
    candidates: int = 16
    warm_start: bool = False

    @property
    def evaluations(self):
        return self.candidates

    def plan(self, problem, previous):
        uniforms = problem.streams.uniforms("plan", (self.candidates, problem.horizon, problem.space.width))[0]
        samples = uniform_actions(problem.space, uniforms)
        return cheapest(samples, problem.cost(samples))


@dataclass(frozen=True)
class Teleport(NoEffect):
    """Back to the start."""

    name: str = "teleport"
    window: int | None = 1

    def strike(self, environment, moment, streams):
        return replace(moment, states=environment.reset(streams.episode_seeds))


def median_steps(table):
    """Steps of the typical episode."""
    return Estimate(float(np.median(table["steps"]))) if len(table) else Estimate.undefined("no episodes")


def always_breaks(table):
    """A metric with a bug in it."""
    return 1 / 0


def bare_number(table):
    """A metric that forgets to wrap its number."""
    return 0.5


class LastDraw:
    """A planner that is no dataclass: its settings are read from its signature."""

    evaluations = 1
    warm_start = False

    def __init__(self, plan_horizon: int = 6, draws=3):
        self.plan_horizon, self._draws = plan_horizon, draws
        self.evaluations = draws

    def plan(self, problem, previous):
        uniforms = problem.streams.uniforms("plan", (self._draws, problem.horizon, problem.space.width))[0]
        samples = uniform_actions(problem.space, uniforms)
        return cheapest(samples, problem.cost(samples))


@dataclass(frozen=True)
class Marcher:
    """Repeats one action."""

    space: object
    action: int = 0
    name: str = "marcher"
    reads: str = "observation"
    compute_per_plan_call: int | None = None

    @property
    def settings(self):
        return {"action": self.action}

    def observe(self, percept, memory):
        return None

    def act(self, percept, memory, streams):
        count, steps = len(percept), int(percept.steps_left.max())
        actions = np.full((count, steps, self.space.width), self.action, self.space.dtype)
        return Decision(actions, percept.steps_left, None, np.zeros(count, np.int64))


def marcher(environment, action: int = 0):
    """Walks in one direction."""
    return Marcher(environment.spec.actions, action)


class Backwards:
    """Does the last job first."""

    workers = 1

    def __call__(self, work, jobs):
        for job in reversed(list(jobs)):
            yield job, work(job)
