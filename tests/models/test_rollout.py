import numpy as np

from wmel.models.imagine import decode_trajectory, rollout
from wmel.models.oracle import Oracle


class SlowMaze:
    """The maze without its fast path."""

    def __init__(self, maze):
        self.spec, self.reset, self.step, self.observe = maze.spec, maze.reset, maze.step, maze.observe


def test_the_fast_path_equals_the_loop(maze):
    actions = np.random.default_rng(0).integers(0, 4, (20, 12, 1))
    states = maze.reset(np.arange(20))
    fast, slow = Oracle(maze), Oracle(SlowMaze(maze))
    assert np.array_equal(rollout(fast, states, actions), rollout(slow, states, actions))


def test_a_rollout_begins_with_where_it_starts(maze):
    states = maze.reset(np.arange(2))
    trajectory = rollout(Oracle(maze), states, np.zeros((2, 3, 1), int))
    assert trajectory.shape == (2, 4, 1)
    assert np.array_equal(trajectory[:, 0], states)


def test_decoding_a_trajectory_is_decoding_each_step(maze):
    oracle = Oracle(maze)
    trajectory = rollout(oracle, maze.reset(np.arange(5)), np.random.default_rng(1).integers(0, 4, (5, 6, 1)))
    steps = [oracle.decode(trajectory[:, step]) for step in range(7)]
    assert np.array_equal(decode_trajectory(oracle, trajectory), np.stack(steps, axis=1))
