"""Small worlds and policies whose outcomes are known beforehand."""

from dataclasses import dataclass

import numpy as np

from wmel.contract.criterion import Criterion
from wmel.contract.environment import Box, EnvironmentSpec, Finite
from wmel.contract.policy import Decision


@dataclass(frozen=True)
class Countdown:
    """The state is how many steps are left to success; some episodes never get there. Actions do nothing."""

    lengths: tuple[int, ...] = (5, -1)  # by the last digits of the seed; -1: never
    reward: bool = False
    idle: bool = False

    @property
    def spec(self):
        idle = np.zeros(1, np.float32) if self.idle else None
        return EnvironmentSpec("countdown", ("left",), Finite(("wait", "look")), max_steps=100, idle=idle)

    @property
    def default_criterion(self):
        return Criterion("left", at_most=0)

    def reset(self, seeds):
        return np.array([[self.lengths[seed % len(self.lengths)]] for seed in seeds], float)

    def step(self, states, actions):
        return np.where(states < 0, states, np.maximum(states - 1, 0))

    def observe(self, states):
        return states

    def goals(self, states):
        return np.zeros((len(states), 1))

    def quantities(self, states, actions, next_states):
        left = np.where(next_states[:, 0] < 0, 1e9, next_states[:, 0])
        return {"left": left} | ({"reward": np.ones(len(left))} if self.reward else {})


@dataclass(frozen=True)
class Slope:
    """A point on a line, moved by what is executed; success at 1 or beyond."""

    @property
    def spec(self):
        return EnvironmentSpec("slope", ("x",), Box(np.array([-0.25]), np.array([0.25])), max_steps=8)

    @property
    def default_criterion(self):
        return Criterion("x", at_least=1.0)

    def reset(self, seeds):
        return np.zeros((len(seeds), 1), np.float32)

    def step(self, states, actions):
        return states + actions

    def observe(self, states):
        return states

    def goals(self, states):
        return np.ones((len(states), 1), np.float32)

    def quantities(self, states, actions, next_states):
        return {"x": next_states[:, 0]}


@dataclass(frozen=True)
class Scripted:
    """A policy that decides by a function of its percept and streams; it reads the state."""

    decide: object
    name: str = "scripted"
    reads: str = "state"
    compute_per_plan_call: int | None = None

    @property
    def settings(self):
        return {}

    def observe(self, percept, memory):
        return None

    def act(self, percept, memory, streams):
        return self.decide(percept, streams)


def waiting(length=1):
    """Do nothing, `length` steps at a time."""

    def decide(percept, streams):
        count = len(percept)
        return Decision(np.zeros((count, length, 1), np.int32), np.full(count, length), None, np.ones(count, int))

    return Scripted(decide)
