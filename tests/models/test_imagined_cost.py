from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from wmel.contract.environment import Box, Finite
from wmel.contract.objective import DiscountedSum
from wmel.contract.world_model import WorldModelSpec
from wmel.models.imagine import ImaginedCost
from wmel.models.oracle import Oracle
from wmel.objectives import GoalDistance


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


@dataclass
class Learning:
    """A torch model whose weights still learn."""

    weight: torch.Tensor
    books: list
    spec = WorldModelSpec("learning", action_input="value")

    def step(self, latents, actions):
        self.books.append((torch.is_inference_mode_enabled(), actions.requires_grad))
        return latents * self.weight + actions

    def decode(self, latents):
        return latents


class Kinds:
    name, reduction = "kinds", DiscountedSum()

    def __init__(self):
        self.received = set()

    def costs(self, observations, actions, goals):
        self.received |= {type(one) for one in (observations, actions, goals)}
        return observations[:, 1:, 0]


def test_a_search_in_numpy_keeps_no_books_of_a_torch_model_that_learns():
    weight = torch.ones(2, requires_grad=True)
    model, objective, space = Learning(weight, []), Kinds(), Box(-np.ones(2, np.float32), np.ones(2, np.float32))
    latents = torch.zeros(1, 2) * weight
    cost = ImaginedCost(model, objective, space, latents, np.zeros((1, 0), np.float32), 2)
    costs = cost(np.full((1, 3, 4, 2), 0.5, np.float32)).costs
    assert set(model.books) == {(True, False)}
    assert objective.received == {np.ndarray}
    assert isinstance(costs, np.ndarray) and costs.tolist() == [[0.5 + 1.0 + 1.5 + 2.0] * 3]


def test_candidates_that_ask_for_a_gradient_get_it():
    model, objective = Learning(torch.ones(2), []), Kinds()
    space = Box(-np.ones(2, np.float32), np.ones(2, np.float32))
    cost = ImaginedCost(model, objective, space, torch.zeros(1, 2), np.zeros((1, 0), np.float32), 2)
    candidates = torch.full((1, 3, 4, 2), 0.5, requires_grad=True)
    cost(candidates).costs.sum().backward()
    assert objective.received == {torch.Tensor}
    assert candidates.grad is not None and candidates.grad[0, 0, :, 0].tolist() == [4, 3, 2, 1]
