import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from wmel.errors import BadInput
from wmel.stats.spearman import spearman

pairs = st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=3, max_size=12)


@given(pairs)
def test_it_is_scipys_with_ties_and_all(drawn):
    one, other = (np.array(values, float) for values in zip(*drawn, strict=True))
    found = spearman(one.tolist(), other.tolist())
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        assert "all alike" in found.reason
    else:
        assert found.value == pytest.approx(spearmanr(one, other).statistic)


def test_any_growing_relation_is_perfect():
    assert spearman([1, 2, 3, 50], [1, 10, 1e5, 1e9]).value == pytest.approx(1)
    assert spearman([1, 2, 3, 50], [4, 3, 2, 1]).value == pytest.approx(-1)


def test_one_pair_has_no_correlation():
    assert spearman([1], [2]).value is None


@pytest.mark.parametrize("other", [[1.0], [1.0, float("nan")]])
def test_what_has_no_ranks_is_refused(other):
    with pytest.raises(BadInput):
        spearman([1.0, 2.0], other)
