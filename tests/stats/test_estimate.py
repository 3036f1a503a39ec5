import numpy as np
import pytest

from wmel.errors import BadInput
from wmel.stats.estimate import Estimate, mean_normal, percentile


def test_an_undefined_estimate_is_not_zero_and_says_why():
    estimate = Estimate.undefined("no episode succeeded")
    assert not estimate.is_defined and estimate.value is None and estimate.reason == "no episode succeeded"


def test_zero_is_a_value():
    assert Estimate(0.0).is_defined


def test_the_normal_interval_uses_the_population_deviation():
    estimate = mean_normal(np.array([1.0, 3.0]))
    half = 1.96 * 1.0 / 2**0.5
    assert (estimate.value, estimate.low, estimate.high) == (2.0, 2 - half, 2 + half)


def test_no_values_are_undefined():
    assert mean_normal(np.array([])).reason == "no values"


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_mean_of_nan_is_refused(bad):
    with pytest.raises(BadInput, match="finite"):
        mean_normal(np.array([1.0, bad]))


@pytest.mark.parametrize(("percent", "needed"), [(50, 2), (95, 20), (99, 100)])
def test_a_percentile_is_undefined_until_something_lies_beyond_it(percent, needed):
    few = percentile(np.arange(needed - 1), percent)
    assert few.value is None and f"needs {needed} values" in few.reason
    assert percentile(np.arange(needed), percent).value is not None


def test_the_median_of_an_odd_sample_is_its_middle():
    assert percentile(np.array([9.0, 1.0, 5.0]), 50).value == 5
