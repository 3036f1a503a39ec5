import numpy as np
import pytest
from scipy.stats import binom

from wmel.errors import BadInput
from wmel.stats.estimate import (
    MIN_EPISODES,
    MIN_MIDDLE,
    MIN_VALUES,
    Estimate,
    episodes_for_percentile,
    interquartile_mean,
    mean,
    mean_over_clusters,
    percentile_over_clusters,
)
from wmel.stats.means import check_equal_shares, paired_t, weighted_mean

RNG = np.random.default_rng(0)
ONE, OTHER = RNG.normal(5, 2, 30), RNG.normal(4, 1, 30)


def test_scipy_agrees():
    from scipy import stats

    paired = stats.ttest_rel(ONE, OTHER).confidence_interval()
    assert (paired_t(ONE, OTHER).low, paired_t(ONE, OTHER).high) == pytest.approx((paired.low, paired.high))


@pytest.mark.parametrize("count", range(MIN_MIDDLE, MIN_MIDDLE + 6))
def test_scipy_agrees_on_the_middle_half(count):
    """Its trimmed mean; and Yuen's test of two samples, of which one is the other moved by 1: it has twice the variance
    of one, and twice the degrees of freedom."""
    from scipy import stats

    values = RNG.lognormal(size=count)
    found, yuen = interquartile_mean(values), stats.ttest_ind(values + 1, values, trim=0.25)
    assert found.value == pytest.approx(stats.trim_mean(values, 0.25))
    half = stats.t.ppf(0.975, yuen.df / 2) / yuen.statistic / np.sqrt(2)
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half))


def test_values_far_away_do_not_move_the_middle_half():
    assert interquartile_mean([0, 10, 20, 30, 40, 50, 60, 1000]).value == 35  # (20 + 30 + 40 + 50) / 4
    many = list(range(40))
    assert interquartile_mean(many) == interquartile_mean([-1e9, *many[1:-1], 1e9])


@pytest.mark.parametrize("count", range(MIN_VALUES))
def test_a_few_values_have_no_middle_half(count):
    found = interquartile_mean(range(count))
    assert not found.is_defined and str(MIN_VALUES) in found.reason and str(count) in found.reason


def test_a_middle_half_needs_values_and_spread_for_an_interval():
    few, alike = interquartile_mean(range(MIN_MIDDLE - 1)), interquartile_mean([1.0] * 12 + [0.0] * 3)
    assert (few.value, few.low) == ((MIN_MIDDLE - 2) / 2, None) and str(MIN_MIDDLE) in few.method
    assert (alike.value, alike.low) == (1, None) and "equal" in alike.method


def test_a_weighted_mean_of_independent_normal_estimates_has_the_error_of_their_sum():
    """Independent errors add up by their squares: 3 and 4, weighted alike, are 5 / 2."""
    found = weighted_mean([Estimate(1, -2, 4, 7), Estimate(2, -2, 6, 8)], np.array([0.5, 0.5]), "both")
    assert (found.value, found.low, found.high, found.n) == (1.5, -1.0, 4.0, 15)


@pytest.mark.parametrize("count", range(2, MIN_VALUES))
def test_a_few_pairs_have_no_interval_of_their_difference(count):
    """As means have none: two pairs that differ by 1 were given [1, 1]."""
    found = paired_t(np.arange(count) + 1.0, np.arange(count))
    assert (found.value, found.low, found.high, found.n) == (1, None, None, count) and str(MIN_VALUES) in found.method


def test_equal_differences_show_no_spread():
    found = paired_t(np.arange(9) + 1.0, np.arange(9))
    assert (found.value, found.low) == (1, None) and "equal" in found.method


def test_values_of_fewer_than_five_episodes_are_not_called_few_values():
    """Twelve decisions of four episodes: the note is about episodes."""
    assert "episodes" in mean_over_clusters(np.arange(12.0), np.arange(12) // 3).method
    assert "values" in mean(np.arange(4.0)).method


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


def test_unequal_strata_are_refused():
    """90/100 v 9/10 and 1/10 v 10/100 are both gap 0 and would pool to +.655."""
    with pytest.raises(BadInput, match="unequal shares"):
        check_equal_shares([100, 10], [10, 100])
    check_equal_shares([100, 50], [20, 10])


@pytest.mark.parametrize(("one", "other"), [([-5, 10], [-5, 10]), ([0, 0], [0, 0]), (["a"], ["a"]), ([1, 2], [1])])
def test_strata_that_are_none_are_refused(one, other):
    with pytest.raises(BadInput):
        check_equal_shares(one, other)


def test_the_mean_of_values_has_the_interval_of_scipy():
    from scipy import stats

    low, high = stats.t.interval(0.95, len(ONE) - 1, ONE.mean(), stats.sem(ONE))
    found = mean(ONE)
    assert (found.value, found.low, found.high) == pytest.approx((ONE.mean(), low, high))


def test_alike_values_of_a_cluster_count_once():
    """Each value five times over in a cluster of its own: the interval of the values themselves."""
    repeated, clusters = np.repeat(ONE, 5), np.repeat(np.arange(len(ONE)), 5)
    found, plain = mean_over_clusters(repeated, clusters), mean(ONE)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high))
    assert found.high - found.low > 2 * (mean(repeated).high - mean(repeated).low)


def test_a_positive_quantity_stays_positive():
    assert mean(np.array([1.0, 1, 1, 1, 200]), lowest=1).low == 1


@pytest.mark.parametrize("values", [[3.0], [1.0, 5.0], [1.0] * (MIN_VALUES - 1), [2.0] * 40])
def test_few_values_and_values_without_spread_have_no_interval(values):
    found = mean(values)
    assert found.value == pytest.approx(np.mean(values)) and found.low is None and found.method


def test_no_values_are_undefined():
    assert mean([]).value is None and mean([]).reason


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_mean_of_nan_is_refused(bad):
    with pytest.raises(BadInput, match="finite"):
        mean(np.array([1.0, bad]))


@pytest.mark.parametrize(("percent", "needed"), [(50, 2), (95, 20), (99, 100)])
def test_a_percentile_is_undefined_until_something_lies_beyond_it(percent, needed):
    few = percentile_over_clusters(np.arange(needed - 1.0), np.arange(needed - 1), percent)
    assert few.value is None and str(needed) in few.reason
    assert percentile_over_clusters(np.arange(float(needed)), np.arange(needed), percent).value is not None


def test_the_median_of_an_odd_sample_is_its_middle():
    assert percentile_over_clusters(np.array([9.0, 1.0, 5.0]), np.arange(3), 50).value == 5


def test_a_percentile_of_few_episodes_has_no_interval():
    times = np.arange(40.0)
    assert percentile_over_clusters(times, np.arange(40) % (MIN_EPISODES - 1), 50).low is None
    assert percentile_over_clusters(times, np.arange(40) % MIN_EPISODES, 50).low is not None


@pytest.mark.parametrize("percent", [50, 95, 99])
def test_the_interval_of_a_percentile_of_independent_values_is_exact(percent):
    """A second way: its ends are values of two ranks, and how many values lie below the percentile is binomial."""
    for count in range(episodes_for_percentile(percent), 400):
        found = percentile_over_clusters(np.arange(1.0, count + 1), np.arange(count), percent)
        covered = binom.cdf(found.high - 1, count, percent / 100) - binom.cdf(found.low - 1, count, percent / 100)
        assert covered >= 0.95, count


@pytest.mark.parametrize("percent", [50, 95, 99])
def test_fewer_episodes_than_can_lie_beyond_a_percentile_have_no_interval(percent):
    count = episodes_for_percentile(percent)
    for fewer, decisions in ((count - 1, 1), (count - 1, 20)):
        found = percentile_over_clusters(
            np.arange(float(fewer * decisions)), np.arange(fewer * decisions) % fewer, percent
        )
        assert found.value is not None and found.low is None and str(count) in found.method
    assert percentile_over_clusters(np.arange(float(count)), np.arange(count), percent).low is not None


@pytest.mark.parametrize(("episodes", "percent"), [(MIN_EPISODES, 50), (40, 50), (72, 95)])
def test_the_interval_of_a_percentile_covers_times_that_are_alike_within_an_episode(episodes, percent):
    """Times with an effect of the episode; the truth is from a million."""
    rng, covered = np.random.default_rng(1), 0

    def times(count):
        return np.exp(rng.normal(0, 0.3, count)[:, None] + rng.normal(0, 0.3, (count, 8)))

    truth = np.percentile(times(125_000), percent)
    for _ in range(400):
        found = percentile_over_clusters(times(episodes).ravel(), np.repeat(np.arange(episodes), 8), percent)
        covered += found.low <= truth <= found.high
    assert covered / 400 >= 0.90


def test_equal_times_of_an_episode_count_once():
    """Twenty copies of a value say no more of the percentile than one."""
    values = np.random.default_rng(5).random(80)
    once = percentile_over_clusters(values, np.arange(80), 50)
    copied = percentile_over_clusters(np.repeat(values, 20), np.repeat(np.arange(80), 20), 50)
    assert (copied.low, copied.high) == (once.low, once.high)


def test_the_interval_of_a_percentile_ends_at_the_largest_value_at_the_latest():
    """Of how many independent values the interval is, is any number: their ranks are rounded to whole ones."""
    rng = np.random.default_rng(6)
    for episodes in range(72, 130):
        times = np.repeat(rng.random(episodes), 20) + rng.normal(0, 0.01, episodes * 20)
        found = percentile_over_clusters(times, np.repeat(np.arange(episodes), 20), 95)
        assert times.min() <= found.low <= found.value <= found.high <= times.max()
