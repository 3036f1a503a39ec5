import numpy as np
import pytest

from wmel.diagnostics.esnr.estimators import Gradients, concatenate_gradients, is_flat


def part(count, out_of_range=0.0, elites=None) -> Gradients:
    return Gradients(np.full((count, 4, 2), float(count)), np.zeros(count, bool), 10 * count, out_of_range, 8, elites)


def test_returns_are_flat_where_they_differ_by_rounding_alone():
    returns = np.array([[3.0, 3.0, 3.0], [3.0, 3.0, 3.0 + 1e-8], [3.0, 3.0, 3.001], [0.0, 0.0, 0.0], [0.0, 0.0, 1e-30]])
    assert is_flat(returns).tolist() == [True, False, False, True, False]
    assert is_flat(returns.astype(np.float32)).tolist() == [True, True, False, True, False]


def test_a_nan_among_returns_is_not_flat():
    assert is_flat(np.array([[1.0, np.nan, 1.0]])).tolist() == [False]


def test_parts_count_by_how_much_they_hold():
    whole = concatenate_gradients([part(1, 0.4, 2.0), part(3, 0.0, 6.0)])
    assert whole.samples.shape == (4, 4, 2) and whole.flat.shape == (4,)
    assert whole.model_steps == 40 and whole.rollouts_each == 8
    assert whole.out_of_range == pytest.approx(0.1)
    assert whole.effective_elites == pytest.approx(5.0)


def test_a_part_without_elites_does_not_count_among_them():
    assert concatenate_gradients([part(2, elites=4.0), part(5, elites=None)]).effective_elites == pytest.approx(4.0)
    assert concatenate_gradients([part(2), part(5)]).effective_elites is None
