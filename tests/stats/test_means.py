import numpy as np
import pytest

from wmel.errors import BadInput
from wmel.stats.means import check_equal_shares, paired_t, welch

RNG = np.random.default_rng(0)
ONE, OTHER = RNG.normal(5, 2, 30), RNG.normal(4, 1, 30)


def test_scipy_agrees():
    from scipy import stats

    paired = stats.ttest_rel(ONE, OTHER).confidence_interval()
    assert (paired_t(ONE, OTHER).low, paired_t(ONE, OTHER).high) == pytest.approx((paired.low, paired.high))
    independent = stats.ttest_ind(ONE, OTHER[:20], equal_var=False)
    interval = independent.confidence_interval()
    found = welch(ONE, OTHER[:20])
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))


def test_swapping_the_arms_flips_the_interval():
    for interval in (paired_t, welch):
        one, other = interval(ONE, OTHER), interval(OTHER, ONE)
        assert (one.value, one.low) == pytest.approx((-other.value, -other.high))


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ([1.0], [2.0, 3.0], "at least two values"),
        ([1.0, np.nan], [2.0, 3.0], "must be finite"),
        ([1.0, 2, 3], [1.0, 2], "as many"),
        (["a", "b"], [1.0, 2], "must be finite numbers"),
        ([[1.0], [1.0, 2.0]], [1.0, 2], "must be finite numbers"),
    ],
)
def test_values_that_cannot_be_compared_are_refused(one, other, words):
    with pytest.raises(BadInput, match=words):
        paired_t(one, other)


@pytest.mark.parametrize("confidence", [0, 1, float("nan"), "x"])
def test_a_confidence_that_is_no_share_is_refused(confidence):
    for interval in (paired_t, welch):
        with pytest.raises(BadInput, match="confidence must lie in"):
            interval(ONE, OTHER, confidence=confidence)


def test_unequal_strata_are_refused():
    """90/100 v 9/10 and 1/10 v 10/100 are both gap 0 and would pool to +.655."""
    with pytest.raises(BadInput, match="unequal shares"):
        check_equal_shares([100, 10], [10, 100])
    check_equal_shares([100, 50], [20, 10])


@pytest.mark.parametrize(("one", "other"), [([-5, 10], [-5, 10]), ([0, 0], [0, 0]), (["a"], ["a"]), ([1, 2], [1])])
def test_strata_that_are_none_are_refused(one, other):
    with pytest.raises(BadInput):
        check_equal_shares(one, other)
