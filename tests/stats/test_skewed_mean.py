"""The mean of skewed values: its interval against Student's, its coverage, and where it has none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import skew, t

from wmel.stats.means import cluster_bootstrap, skewed_mean, skewed_ratio


def mean_of(values, clusters=None):
    return skewed_mean(np.asarray(values, float), np.arange(len(values)) if clusters is None else clusters)


def test_without_skewness_it_is_students_interval():
    """A symmetric sample has skewness 0, at which the transformation is the identity."""
    values = np.concatenate([np.arange(1, 7), -np.arange(1, 7)]) + 3.0
    found, low, high = mean_of(values), *t.interval(0.95, 11, 3, values.std(ddof=1) / np.sqrt(12))
    assert (found.value, found.low, found.high) == pytest.approx((3, low, high))


def test_its_ends_are_the_roots_of_the_cubic():
    """Hall (1992): t + g t^2 / (3 sqrt n) + g^2 t^3 / (27 n) + g / (6 sqrt n) is Student's at both ends."""
    values = np.random.default_rng(0).exponential(size=20)
    found, error = mean_of(values), values.std(ddof=1) / np.sqrt(20)
    g = skew(values)
    for end, quantile in ((found.low, t.ppf(0.975, 19)), (found.high, t.ppf(0.025, 19))):
        x = (values.mean() - end) / error
        cubic = x + g * x**2 / (3 * 20**0.5) + g**2 * x**3 / (27 * 20) + g / (6 * 20**0.5)
        assert cubic == pytest.approx(quantile)


@pytest.mark.parametrize("count", [10, 16, 64])
@pytest.mark.parametrize("draw", ["chisquare", "exponential", "normal"])
def test_it_covers_where_students_interval_does_not(draw, count):
    """At least .90 of 2,000 runs, whose error is .006; Student's covers .86 for squared normals at 10."""
    rng = np.random.default_rng(1)
    values = {"chisquare": rng.chisquare(1, (2000, count)), "exponential": rng.exponential(1, (2000, count)),
              "normal": rng.normal(1, 1, (2000, count))}[draw]  # fmt: skip
    found = [one for one in map(mean_of, values) if one.low is not None]
    assert np.mean([one.low <= 1 <= one.high for one in found]) >= 0.9
    assert len(found) > 1500


@given(st.lists(st.floats(1e-3, 1e6), min_size=10, max_size=40))
def test_however_skewed_its_ends_stay_within_a_few_errors(values):
    found = mean_of(values)
    if found.low is None:
        assert found.reason or np.ptp(values) == 0
        return
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert found.low <= found.value <= found.high and found.high - found.value <= 12 * error + 1e-9


def test_clusters_that_are_repeated_are_no_more_certain():
    values = np.random.default_rng(2).exponential(size=12)
    alone, repeated = mean_of(values), mean_of(np.repeat(values, 5), np.repeat(np.arange(12), 5))
    assert (repeated.low, repeated.high, repeated.n) == pytest.approx((alone.low, alone.high, 12))


@pytest.mark.parametrize(
    ("values", "words"),
    [(np.arange(9.0), "needs 10 clusters, there are 9"), ([1.0] * 15 + [24.0], "makes up 62% of the sum")],
)
def test_what_has_no_interval_has_its_mean_and_the_reason(values, words):
    found = mean_of(values)
    assert found.value == pytest.approx(np.mean(values)) and found.low is found.high is None
    assert words in found.reason


def test_up_to_six_tenths_of_the_sum_may_be_of_one_cluster():
    assert mean_of([1.0] * 14 + [-21.0]).low is not None and mean_of([1.0] * 14 + [-22.0]).low is None


def test_a_ratio_has_the_wider_of_two_intervals_and_positive_bounds():
    rng = np.random.default_rng(3)
    above, below = rng.exponential(size=16), rng.exponential(size=16)
    found, boot = skewed_ratio(above, below, np.arange(16)), cluster_bootstrap(above, below, np.arange(16), scale="log")
    assert found.value == boot.value and 0 <= found.low <= boot.low < boot.high <= found.high
    repeated = skewed_ratio(np.repeat(above, 3), np.repeat(below, 3), np.repeat(np.arange(16), 3))
    assert (repeated.low, repeated.high) == pytest.approx((found.low, found.high))


def test_a_ratio_of_skewed_sums_is_covered_where_the_bootstrap_does_not_cover():
    """Of squared normals over exponentials at 16 clusters; 300 runs have an error of .015."""
    rng, held = np.random.default_rng(4), 0
    for _ in range(300):
        found = skewed_ratio(rng.chisquare(1, 16), rng.exponential(1, 16), np.arange(16))
        held += found.low <= 1 <= found.high
    assert held / 300 >= 0.9
