"""Parts that return one array at every call, or write what they receive, give the same rows as parts that do not."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from tests.policies.own_models import Batched
from tests.testing.wrapped import Wrapped
from wmel import catalog
from wmel.closed_loop.run import run_episodes
from wmel.planners.random_shooting import RandomShooting
from wmel.policies import model_predictive
from wmel.schema import OUTCOMES

MAZE = catalog.environment("maze_toy")


class Buffered:
    """The result of every call of a function in one array, which the next call writes again."""

    def __init__(self):
        self.arrays = {}

    def keep(self, name, result):
        shape = (4096, *result.shape[1:])
        whole = self.arrays.setdefault((name, shape), np.zeros(shape, result.dtype))
        whole[: len(result)] = result
        return whole[: len(result)]


class BufferedModel(Batched):
    def __init__(self):
        super().__init__()
        self.buffer = Buffered()

    def encode(self, percept, previous):
        return self.buffer.keep("encode", super().encode(percept, previous))

    def step(self, latents, actions):
        return self.buffer.keep("step", super().step(latents, actions))

    def decode(self, latents):
        return self.buffer.keep("decode", super().decode(latents))


class WritingModel(Batched):
    """Steps in place."""

    def step(self, latents, actions):
        latents[:] = super().step(latents, actions)
        return latents


class BufferedEnvironment(Wrapped):
    """A maze without a rollout, so that the oracle steps it. It fails where a batch has two rows of one episode."""

    rollout = None

    def __init__(self, world):
        super().__init__(world)
        self.buffer = Buffered()

    def reset(self, seeds):
        if len(seeds) > 1 and 3 in seeds:
            raise OSError(3)  # halves the batch
        return self.buffer.keep("reset", super().reset(seeds))

    def step(self, states, actions):
        return self.buffer.keep("step", super().step(states, actions))

    def observe(self, states):
        return self.buffer.keep("observe", super().observe(states))

    def quantities(self, states, actions, next_states):
        found = super().quantities(states, actions, next_states)
        return {name: self.buffer.keep(name, numbers) for name, numbers in found.items()}


@dataclass(frozen=True)
class BufferedPlanner(RandomShooting):
    buffer: Any = field(default_factory=Buffered)

    def plan(self, problem, previous):
        plan = super().plan(problem, previous)
        return replace(plan, actions=self.buffer.keep("actions", plan.actions))


def rows(environment, planner=RandomShooting, model=None):
    policy = model_predictive.planning(environment, planner(8, 40), model=model)
    table = run_episodes(environment, policy, np.arange(6), max_steps=40, timed_decisions=0)
    return {name: str(table[name].tolist()) for name in OUTCOMES if name != "rewards"}


@pytest.mark.parametrize("model", [BufferedModel, WritingModel])
def test_a_model_that_uses_one_array_for_all_steps_plans_as_well(model):
    assert rows(MAZE, model=model()) == rows(MAZE, model=Batched())


def test_an_environment_that_uses_one_array_for_all_calls_has_the_same_episodes():
    assert rows(BufferedEnvironment(MAZE)) == rows(MAZE)


def test_a_planner_that_returns_one_array_for_all_plans_acts_the_same(monkeypatch):
    monkeypatch.setattr(model_predictive, "BYTES_OF_CANDIDATES", 1)  # each episode is planned in a call of its own
    assert rows(MAZE, planner=BufferedPlanner) == rows(MAZE)
