import numpy as np
import pytest

from wmel.errors import BadInput
from wmel.stats.estimate import mean_normal


def test_the_documents_interval_uses_the_population_deviation():
    estimate = mean_normal(np.array([1.0, 3.0]))
    half = 1.96 * 1.0 / 2**0.5
    assert (estimate.value, estimate.low, estimate.high) == (2.0, 2 - half, 2 + half)


def test_no_values_are_undefined():
    assert mean_normal(np.array([])).reason == "no values"


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_mean_of_nan_is_refused(bad):
    with pytest.raises(BadInput, match="finite"):
        mean_normal(np.array([1.0, bad]))
