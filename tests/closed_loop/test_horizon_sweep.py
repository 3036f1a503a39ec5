import numpy as np
import pytest

from wmel import catalog, horizon_sweep
from wmel.errors import BadInput


def sweep(maze, horizons, **settings):
    return horizon_sweep(
        maze, lambda h: catalog.policy("cem", maze, plan_horizon=h), horizons, episodes_per_point=3, **settings
    )


def test_every_horizon_runs_the_same_episodes_shortest_first(maze):
    points = sweep(maze, [9, 3], seed=5)
    assert [point.plan_horizon for point in points] == [3, 9]
    assert all(np.array_equal(point.run.table["episode_seed"], [500000, 500001, 500002]) for point in points)
    assert points[0].run.table["declared_compute"][0] == points[0].run.table["plan_calls"][0] * 3 * 24 * 3


@pytest.mark.parametrize(("horizons", "words"), [([], "at least one"), ([5, 0], "positive, got 0"), ([5, 5], "differ")])
def test_horizons_that_make_no_sweep_are_refused(maze, horizons, words):
    with pytest.raises(BadInput, match=words):
        sweep(maze, horizons)
