import numpy as np
import pytest

from wmel.contract.criterion import Criterion, When, is_met, is_success


@pytest.mark.parametrize(
    ("bounds", "expected"), [({"at_least": 0.6}, [False, True, True]), ({"at_most": 0.6}, [True, True, False])]
)
def test_the_bound_itself_is_inside(bounds, expected):
    assert is_met(Criterion("reward", **bounds), {"reward": np.array([0.59, 0.6, 0.7])}).tolist() == expected


def test_nan_never_succeeds():
    assert not is_met(Criterion("reward", at_least=0), {"reward": np.array([np.nan])})[0]
    assert not is_met(Criterion("reward", at_most=0), {"reward": np.array([np.nan])})[0]


def test_a_streak_is_enough_when_it_is_long_enough():
    sustained = Criterion("reward", at_least=0.6, when=When.SUSTAINED, steps=3)
    assert is_success(sustained, np.array([0, 2, 3, 4]), False).tolist() == [False, False, True, True]


def test_at_the_end_means_at_the_last_step():
    at_end = Criterion("reward", at_least=0.6, when=When.AT_END)
    assert not is_success(at_end, np.array([5]), False)[0]
    assert is_success(at_end, np.array([5, 0]), True).tolist() == [True, False]
