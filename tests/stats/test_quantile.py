import numpy as np
import pytest

from wmel.stats.estimate import percentile


@pytest.mark.parametrize(("percent", "needed"), [(50, 2), (95, 20), (99, 100)])
def test_a_percentile_is_undefined_until_something_lies_beyond_it(percent, needed):
    few = percentile(np.arange(needed - 1), percent)
    assert few.value is None and f"needs {needed} values" in few.reason
    assert percentile(np.arange(needed), percent).value is not None


def test_the_median_of_an_odd_sample_is_its_middle():
    assert percentile(np.array([9.0, 1.0, 5.0]), 50).value == 5
