import numpy as np
import pytest

from wmel.errors import BadInput
from wmel.stats.estimate import MIN_EPISODES, MIN_VALUES, mean, mean_over_clusters, percentile_over_clusters
from wmel.stats.means import check_equal_shares, paired_t

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


@pytest.mark.parametrize(("episodes", "percent"), [(MIN_EPISODES, 50), (40, 50), (40, 95)])
def test_the_interval_of_a_percentile_covers_times_that_are_alike_within_an_episode(episodes, percent):
    """Times with an effect of the episode; the truth is from a million. 200 runs: a standard error of .02."""
    rng, covered = np.random.default_rng(1), 0

    def times(count):
        return np.exp(rng.normal(0, 0.3, count)[:, None] + rng.normal(0, 0.3, (count, 8)))

    truth = np.percentile(times(125_000), percent)
    for _ in range(200):
        found = percentile_over_clusters(times(episodes).ravel(), np.repeat(np.arange(episodes), 8), percent)
        covered += found.low <= truth <= found.high
    assert covered / 200 >= 0.90 - 0.04
