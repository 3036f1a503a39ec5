import numpy as np

from wmel.contract.policy import Percept

PERCEPT = Percept(np.arange(6.0).reshape(3, 2), np.ones((3, 2)), np.arange(3)[:, None], np.zeros((3, 1)), np.full(3, 9))


def test_rows_of_a_percept_belong_together():
    part = PERCEPT.rows(np.array([2, 0]))
    assert part.observation.tolist() == [[4, 5], [0, 1]]
    assert part.state is not None and part.state.tolist() == [[2], [0]]


def test_the_true_state_is_shown_only_to_those_who_declare_it():
    assert PERCEPT.visible_to("observation").state is None
    assert PERCEPT.visible_to("state").state is not None
    assert PERCEPT.visible_to("observation").rows(np.array([0])).state is None
