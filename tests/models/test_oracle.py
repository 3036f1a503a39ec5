from dataclasses import replace

import numpy as np
import pytest

from wmel.errors import BadInput
from wmel.models.oracle import Oracle


def test_the_oracle_is_the_environment(maze, percept_of):
    states, actions = maze.reset(np.arange(3)), np.array([[1], [1], [0]])
    oracle = Oracle(maze)
    latents = oracle.encode(percept_of(maze, states), None)
    assert np.array_equal(oracle.step(latents, actions), maze.step(states, actions))
    assert np.array_equal(oracle.decode(latents), maze.observe(states))


def test_the_oracle_says_that_it_reads_the_true_state(maze, percept_of):
    oracle = Oracle(maze)
    assert oracle.spec.reads == "state"
    with pytest.raises(BadInput, match="reads the true state"):
        oracle.encode(percept_of(maze, maze.reset(np.arange(1))).visible_to("observation"), None)


def test_an_environment_that_cannot_branch_has_no_oracle(maze):
    class OneWay:
        spec = replace(maze.spec, branchable=False)

    with pytest.raises(BadInput, match="has no oracle"):
        Oracle(OneWay())
