"""Values of settings by their types."""

import numpy as np
import pytest

from wmel.values import INVALID, convert_value


@pytest.mark.parametrize("kind", [None, float, int | float, float | None])
@pytest.mark.parametrize("value", [float("nan"), np.float32("nan")])
def test_nan_is_no_value(kind, value):
    assert convert_value(kind, value) is INVALID


@pytest.mark.parametrize("value", [[1.0, float("nan")], {"a": float("nan")}])
def test_a_list_or_table_with_nan_is_none_either(value):
    assert convert_value(None, value) is INVALID


@pytest.mark.parametrize(("value", "number"), [(np.float32(3), 3.0), (np.int64(2), 2), (np.float64(0.5), 0.5)])
def test_a_number_of_numpy_is_the_number_it_is(value, number):
    assert convert_value(None, value) == number and type(convert_value(None, value)) is type(number)


def test_true_stays_true():
    assert convert_value(None, True) is True
