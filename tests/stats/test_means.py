import numpy as np
import pytest

from wmel.errors import BadInput
from wmel.stats.estimate import Estimate
from wmel.stats.means import check_equal_shares, paired_t, recipe_interval

RNG = np.random.default_rng(0)
ONE, OTHER = RNG.normal(5, 2, 30), RNG.normal(4, 1, 30)


def test_scipy_agrees():
    from scipy import stats

    paired = stats.ttest_rel(ONE, OTHER).confidence_interval()
    assert (paired_t(ONE, OTHER).low, paired_t(ONE, OTHER).high) == pytest.approx((paired.low, paired.high))


def test_swapping_the_arms_flips_the_interval():
    one, other = paired_t(ONE, OTHER), paired_t(OTHER, ONE)
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
    with pytest.raises(BadInput, match=str(confidence)):
        paired_t(ONE, OTHER, confidence=confidence)


EPISODES = Estimate(0.3, 0.2, 0.4, 150, "tango")


def test_a_recipe_claim_takes_the_wider_interval():
    spread = recipe_interval([0.1, 0.3, 0.5], EPISODES)
    assert spread.method == "t over seeds" and spread.high - spread.low == pytest.approx(
        2 * 4.3027 * 0.2 / 3**0.5, rel=1e-4
    )
    steady = recipe_interval([0.30, 0.30, 0.301], EPISODES)
    assert (steady.low, steady.high) == (0.2, 0.4) and "wider than t over seeds" in steady.method


def test_a_recipe_claim_holds_its_value_even_where_seeds_have_unequal_weight():
    for gaps in ([0.9, 0.91, 0.9], [0.0, 0.9]):
        claim = recipe_interval(gaps, EPISODES)
        assert claim.value == EPISODES.value and claim.low <= claim.value <= claim.high


def test_gaps_that_are_no_numbers_are_refused():
    with pytest.raises(BadInput, match="seeds must be finite"):
        recipe_interval(["a", "b"], EPISODES)


def test_one_seed_is_no_recipe():
    with pytest.raises(BadInput, match="retrained seeds, got 1"):
        recipe_interval([0.3], EPISODES)


def test_unequal_strata_are_refused():
    """90/100 v 9/10 and 1/10 v 10/100 are both gap 0 and would pool to +.655."""
    with pytest.raises(BadInput, match="unequal shares"):
        check_equal_shares([100, 10], [10, 100])
    check_equal_shares([100, 50], [20, 10])


@pytest.mark.parametrize(("one", "other"), [([-5, 10], [-5, 10]), ([0, 0], [0, 0]), (["a"], ["a"]), ([1, 2], [1])])
def test_strata_that_are_none_are_refused(one, other):
    with pytest.raises(BadInput):
        check_equal_shares(one, other)
