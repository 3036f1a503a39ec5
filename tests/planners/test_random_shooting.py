import numpy as np
import pytest

from wmel.contract.environment import Box, Finite
from wmel.errors import BadInput
from wmel.planners.random_shooting import RandomShooting
from wmel.planners.search import uniform_actions


def test_finite_draws_are_uniform_and_never_past_the_end():
    edge = np.float32(1) - np.float32(2**-23)  # the largest number a stream gives
    for count in range(1, 5000):
        space = Finite(("a",) * count)
        assert uniform_actions(space, np.array([[0.0], [edge]], np.float32)).tolist() == [[0], [count - 1]]
    space = Finite(tuple("abcdefg"))
    samples = uniform_actions(space, np.random.default_rng(0).random((70000, 1), dtype=np.float32))
    # a chi-squared statistic of 7 cells exceeds 23.8 with probability 0.0006
    assert ((np.bincount(samples[:, 0]) - 10000) ** 2 / 10000).sum() < 23.8


def test_box_draws_fill_the_box():
    box = Box(np.array([-2.0]), np.array([6.0]))
    samples = uniform_actions(box, np.random.default_rng(0).random((10000, 1), dtype=np.float32))
    assert abs(samples.mean() - 2) < 4 * 8 / np.sqrt(12 * 10000)
    assert -2 <= samples.min() < -1.99 and 5.99 < samples.max() <= 6


@pytest.mark.parametrize("settings", [{"plan_horizon": 0}, {"candidates": 0}, {"candidates": -5}])
def test_bad_settings_are_refused(settings):
    ((name, value),) = settings.items()
    with pytest.raises(BadInput, match=f"{name} must .*, got {value}"):
        RandomShooting(**settings)
