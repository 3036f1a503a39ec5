from dataclasses import replace

import numpy as np
import pytest

from wmel.contract.spaces import Finite
from wmel.contract.world_model import WorldModelSpec
from wmel.models.imagined_cost import ImaginedCost
from wmel.models.oracle import Oracle
from wmel.objectives.goal_distance import GoalDistance


def cost_of(maze, count):
    states = maze.reset(np.arange(count))
    return ImaginedCost(Oracle(maze), GoalDistance(), maze.spec.actions, states, maze.goals(states), 2)


def scalar_cost(maze, sequence):
    """One candidate, one step at a time."""
    state, goal, costs = maze.reset(np.arange(1)), np.array(maze.layout.goal), []
    for action in sequence:
        state = maze.step(state, np.array([[action]]))
        costs.append(float(np.abs(maze.observe(state)[0] - goal).sum()))
    lowest = min(costs)
    return lowest, len(costs) if costs[-1] == lowest else costs.index(lowest) + 1


def test_costs_and_cuts_equal_one_candidate_at_a_time(maze):
    candidates = np.random.default_rng(0).integers(0, 4, (3, 40, 9, 1)).astype(np.int32)
    outcome = cost_of(maze, 3)(candidates)
    expected = [[scalar_cost(maze, sequence[:, 0]) for sequence in row] for row in candidates]
    assert np.array_equal(outcome.costs, [[cost for cost, _ in row] for row in expected])
    assert np.array_equal(outcome.lengths, [[cut for _, cut in row] for row in expected])


@pytest.mark.parametrize("bytes_per_chunk", [1, 500, 5000, 1 << 30])
def test_chunking_changes_nothing(maze, bytes_per_chunk):
    candidates = np.random.default_rng(0).integers(0, 4, (4, 25, 8, 1)).astype(np.int32)
    whole, chunked = cost_of(maze, 4), replace(cost_of(maze, 4), bytes_per_chunk=bytes_per_chunk)
    assert np.array_equal(whole(candidates).costs, chunked(candidates).costs)
    assert np.array_equal(whole(candidates).lengths, chunked(candidates).lengths)


class Recorder:
    """A model that stands still and remembers what its actions looked like."""

    def __init__(self, action_input):
        self.spec, self.seen = WorldModelSpec("recorder", action_input=action_input), []

    def encode(self, percept, previous):
        return percept.observation

    def step(self, latents, actions):
        self.seen.append(actions)
        return latents

    def decode(self, latents):
        return latents


@pytest.mark.parametrize(
    ("action_input", "expected"),
    [("index", [[2], [0]]), ("value", [[0.5], [-0.5]]), ("one_hot", [[0, 0, 1], [1, 0, 0]])],
)
def test_finite_actions_reach_the_model_as_it_asks(action_input, expected):
    space = Finite(("a", "b", "c"), values=np.array([[-0.5], [0], [0.5]]))
    model = Recorder(action_input)
    cost = ImaginedCost(model, GoalDistance(), space, np.zeros((1, 2), np.float32), np.zeros((1, 2), np.float32), 2)
    cost(np.array([[[[2]], [[0]]]], np.int32))
    assert model.seen[0].tolist() == expected
