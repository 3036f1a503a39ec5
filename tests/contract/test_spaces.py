import numpy as np
import pytest

from wmel.contract.environment import Box, Finite
from wmel.errors import BadInput

LEVELS = Finite(("left", "off", "right"), values=[[-1.0], [0.0], [1.0]])


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        ([0.0], [np.inf], "finite"),
        ([np.nan], [1.0], "finite"),
        ([1.0], [1.0], "below"),
        ([0.0], [1.0, 2.0], "one length"),
        ([], [], "one length"),
    ],
)
def test_bounds_that_are_no_bounds_are_refused(low, high, words):
    with pytest.raises(BadInput, match=words):
        Box(np.array(low), np.array(high))


def test_a_box_contains_its_bounds_and_nothing_beyond():
    box = Box(np.array([-1.0, 0.0]), np.array([1.0, 2.0]))
    actions = np.array([[-1, 0], [1, 2], [1.0000001, 2], [np.nan, 1]], np.float32)
    assert box.contains(actions).tolist() == [True, True, False, False]


def test_a_finite_action_acts_as_its_value():
    assert LEVELS.as_values(np.array([[2], [0]])).tolist() == [[1.0], [-1.0]]


def test_numbers_travel_as_the_nearest_action():
    uneven = Finite(("a", "b", "c", "d"), values=[[-1.0], [-0.25], [0.5], [1.0]])
    near = uneven.nearest(np.array([[-1.0], [-0.63], [-0.62], [0.13], [0.74], [0.76], [9.0]]))
    assert near[:, 0].tolist() == [0, 0, 1, 2, 2, 3, 3] and near.dtype == uneven.dtype
    box = Box(np.array([-1.0, 0.0]), np.array([1.0, 2.0]))
    assert box.nearest(np.array([[-3.0, 0.5], [0.25, 9.0]])).tolist() == [[-1.0, 0.5], [0.25, 2.0]]


def test_without_values_the_index_acts():
    assert Finite(("a", "b")).as_values(np.array([[1]])).tolist() == [[1]]


def test_only_whole_numbers_in_range_are_finite_actions():
    assert LEVELS.contains(np.array([[0], [2], [3], [-1]])).tolist() == [True, True, False, False]
    assert not LEVELS.contains(np.array([[1.0]])).any()


def test_values_must_match_the_names():
    with pytest.raises(BadInput, match=r"2 named actions .*, got 3"):
        Finite(("a", "b"), values=np.zeros((3, 1)))


def test_no_actions_at_all_are_refused():
    with pytest.raises(BadInput, match="at least one action"):
        Finite(())


@pytest.mark.parametrize("space", [LEVELS, Finite(("a",)), Box(np.array([-1.0]), np.array([1.0]))])
def test_doing_nothing_is_all_zeros(space):
    assert space.idle(3).shape == (3, 1)
    assert not space.idle(3).any()
