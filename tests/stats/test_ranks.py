import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from wmel.errors import BadInput
from wmel.stats.ranks import partial_spearman, spearman

pairs = st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=3, max_size=12)


@given(pairs)
def test_it_is_scipys_with_ties_and_all(rows):
    one, other = (np.array(values, float) for values in zip(*rows, strict=True))
    found = spearman(one.tolist(), other.tolist())
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        assert "all equal" in found.reason
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


def test_the_partial_correlation_is_that_of_what_is_left_of_the_ranks():
    rng = np.random.default_rng(0)
    given_, one, other = rng.normal(size=30), rng.normal(size=30), rng.normal(size=30)
    one, other = one + given_, other - given_
    ranks = [np.argsort(np.argsort(values)) for values in (one, other, given_)]
    left = [rank - np.polyval(np.polyfit(ranks[2], rank, 1), ranks[2]) for rank in ranks[:2]]
    assert partial_spearman(one, other, given_).value == pytest.approx(np.corrcoef(*left)[0, 1])


@pytest.mark.parametrize(
    ("lists", "reason"),
    [
        (([1, 2, 3], [1, 3, 2], [3, 1, 2]), "fewer than 4"),
        (([1, 2, 3, 4], [1, 1, 1, 1], [3, 1, 2, 4]), "all equal"),
        (([1, 2, 3, 4], [1, 3, 2, 4], [10, 20, 30, 40]), "same order"),
    ],
)
def test_a_partial_correlation_that_is_none_says_why(lists, reason):
    assert reason in partial_spearman(*lists).reason
