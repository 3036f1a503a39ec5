"""A model, a planner, a perturbation and a metric."""

from dataclasses import dataclass, replace

import numpy as np

from wmel import Estimate
from wmel.perturbations.unchanged import Unchanged
from wmel.planners.selection import cheapest
from wmel.planners.uniform import uniform_actions


def right_walker(state, action):
    """Believes that every action moves one cell to the right."""
    return state + np.array([1, 0], state.dtype)


@dataclass(frozen=True)
class FirstDraw:
    """Draws a few sequences and keeps the cheapest."""

    horizon: int = 10
    candidates: int = 16
    warm_start: bool = False

    @property
    def evaluations(self):
        return self.candidates

    def plan(self, problem, previous):
        uniforms = problem.streams.uniforms("plan", (self.candidates, problem.horizon, problem.space.width))[0]
        drawn = uniform_actions(problem.space, uniforms)
        return cheapest(drawn, problem.cost(drawn))


@dataclass(frozen=True)
class Teleport(Unchanged):
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
