import numpy as np
import pytest

from tests.closed_loop.worlds import Countdown, waiting
from wmel import BenchmarkRunner, catalog
from wmel.schema import OUTCOMES


def test_a_run_says_what_was_run(maze):
    run = BenchmarkRunner(maze, catalog.policy("greedy", maze), episodes=4, horizon=9, seed=2).run()
    assert (run.environment_name, run.policy_name, run.policy_reads) == ("maze_toy", "greedy", "state")
    assert (run.seeds, run.horizon, run.success, run.stop) == ((2,), 9, "distance<=0", "success")
    assert run.table["episode_seed"].tolist() == [200000, 200001, 200002, 200003]
    assert (run.table["steps"] == 9).all()


def test_without_a_seed_one_is_drawn_and_recorded_so_that_it_can_be_run_again():
    world = Countdown((3, -1, 5))
    first = BenchmarkRunner(world, waiting(), episodes=5).run()
    again = BenchmarkRunner(world, waiting(), episodes=5, seed=first.seeds).run()
    for name in OUTCOMES:
        assert np.array_equal(first.table[name], again.table[name], equal_nan=first.table[name].dtype.kind == "f")


@pytest.mark.parametrize("episodes", [0, -3])
def test_no_episodes_are_refused(maze, episodes):
    with pytest.raises(ValueError, match="episodes must be positive"):
        BenchmarkRunner(maze, catalog.policy("random", maze), episodes=episodes, seed=0).run()
