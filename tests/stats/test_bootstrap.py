import numpy as np
import pytest

from wmel.errors import BadInput
from wmel.stats.means import cluster_bootstrap


def mean_of(numbers, clusters=None, **options):
    clusters = np.arange(len(numbers)) if clusters is None else clusters
    return cluster_bootstrap(numbers, np.ones(len(numbers)), clusters, **options)


def half_width(found) -> float:
    return (found.high - found.low) / 2


@pytest.mark.parametrize(("confidence", "normal"), [(0.95, 1.959964), (0.8, 1.281552)])
def test_of_many_normal_numbers_the_interval_is_the_usual_one(confidence, normal):
    """4,000 draws put a tail quantile within about 3%: sqrt(p q / 4000) / density, twice over."""
    numbers = np.random.default_rng(0).normal(3.0, 2.0, 500)
    found = mean_of(numbers, confidence=confidence)
    assert found.value == pytest.approx(numbers.mean()) and found.n == 500
    assert half_width(found) == pytest.approx(normal * numbers.std() / np.sqrt(500), rel=0.07)
    assert (found.low + found.high) / 2 == pytest.approx(found.value, abs=0.1 * half_width(found))


def test_the_value_is_a_ratio_of_sums():
    rng = np.random.default_rng(1)
    above, below = rng.normal(size=30), rng.uniform(1, 2, 30)
    assert cluster_bootstrap(above, below, np.arange(30)).value == pytest.approx(above.sum() / below.sum())


def test_the_order_of_numbers_within_clusters_does_not_matter():
    rng = np.random.default_rng(2)
    numbers, clusters = rng.gamma(1.0, size=60), np.repeat(np.arange(20), 3)
    order = rng.permutation(60)
    one, other = mean_of(numbers, clusters), mean_of(numbers[order], clusters[order])
    assert (other.value, other.low, other.high) == pytest.approx((one.value, one.low, one.high))


@pytest.mark.parametrize("scale", ["plain", "log", "bounded"])
def test_the_names_of_clusters_hardly_matter(scale):
    """Another order of the clusters is another 4,000 draws."""
    numbers = np.random.default_rng(3).gamma(1.0, size=40)
    one, other = (mean_of(numbers, names, scale=scale) for names in (np.arange(40), -np.arange(40)))
    assert other.low == pytest.approx(one.low, abs=0.1 * half_width(one))
    assert other.high == pytest.approx(one.high, abs=0.1 * half_width(one))


@pytest.mark.parametrize(("factor", "offset"), [(1e-9, 0.0), (250.0, 0.0), (1.0, 7.0)])
def test_units_and_zero_points_carry_through(factor, offset):
    numbers = np.random.default_rng(4).gamma(1.0, size=50)
    one, other = mean_of(numbers), mean_of(factor * numbers + offset)
    for name in ("value", "low", "high"):
        assert getattr(other, name) == pytest.approx(factor * getattr(one, name) + offset, rel=1e-6), name


def test_swapping_signs_flips_the_interval():
    numbers = np.random.default_rng(5).gamma(1.0, size=50)
    one, other = mean_of(numbers), mean_of(-numbers)
    assert (other.low, other.high) == pytest.approx((-one.high, -one.low))


def test_numbers_that_share_a_cluster_count_as_one():
    """Each of 20 written five times is no more than 20: alone they would look sqrt(5) times as certain."""
    numbers = np.repeat(np.random.default_rng(6).normal(size=20), 5)
    together, alone, few = mean_of(numbers, np.repeat(np.arange(20), 5)), mean_of(numbers), mean_of(numbers[::5])
    assert (together.low, together.high) == pytest.approx((few.low, few.high))
    assert half_width(together) / half_width(alone) == pytest.approx(np.sqrt(5), rel=0.2)


def test_one_cluster_has_no_interval():
    found = mean_of(np.array([1.0, 2.0, 6.0]), np.zeros(3))
    assert (found.value, found.low, found.high, found.n) == (3.0, None, None, 1)
    assert "no interval" in found.method


@pytest.mark.parametrize("clusters", [2, 3, 4])
def test_few_clusters_that_differ_are_never_certain(clusters):
    """At least as wide as the numbers are apart: they could each have been the mean."""
    numbers = np.arange(clusters, dtype=float)
    found = mean_of(numbers)
    assert found.low is None or (found.low < numbers.min() + 0.5 and found.high > numbers.max() - 0.5), found


def test_clusters_that_are_alike_leave_nothing_open():
    found = mean_of(np.full(12, 0.1))
    assert found.low == found.high == found.value == pytest.approx(0.1)
    assert "alike" in found.method


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "draw"), [("plain", "lognormal"), ("log", "lognormal"), ("bounded", "cosines")])
def test_intervals_of_sixteen_clusters_cover(scale, draw):
    """95% nominal, at least 88% here; 200 runs have an error of 1.7 points."""
    rng, hits = np.random.default_rng(7), 0
    for _ in range(200):
        if draw == "lognormal":
            numbers, truth = rng.lognormal(0, 0.7, 16), np.exp(0.7**2 / 2)
        else:
            numbers, truth = 1 - 2 * rng.beta(0.8, 2.0, 16), 1 - 2 * 0.8 / 2.8
        found = mean_of(numbers, scale=scale)
        hits += found.low <= truth <= found.high
    assert hits / 200 >= 0.88


def test_a_bounded_interval_stays_within_the_numbers():
    numbers = np.append(np.full(15, 0.99), 0.2)
    found = mean_of(numbers, scale="bounded")
    assert 0.2 <= found.low < found.value < found.high <= 0.99 + 1e-12


@pytest.mark.parametrize(
    ("above", "below", "words"),
    [([1.0, np.nan], [1, 1], "finite"), ([1.0, 2.0], [1, np.inf], "finite"), ([1.0, 2.0], [0, 0], "divide")],
)
def test_what_has_no_ratio_says_why(above, below, words):
    found = cluster_bootstrap(np.array(above), np.array(below), np.arange(2))
    assert not found.is_defined and words in found.reason


def test_nothing_at_all_is_undefined():
    assert not mean_of(np.zeros(0)).is_defined


@pytest.mark.parametrize("lengths", [(3, 2, 3), (3, 3, 2), (2, 3, 3)])
def test_lists_of_other_lengths_are_refused(lengths):
    with pytest.raises(BadInput, match="one length"):
        cluster_bootstrap(*(np.ones(length) for length in lengths))


@pytest.mark.parametrize("confidence", [0, 1, 95, float("nan"), "x"])
def test_a_confidence_that_is_no_share_is_refused(confidence):
    with pytest.raises(BadInput, match="confidence must lie in"):
        mean_of(np.arange(5.0), confidence=confidence)


def test_the_logarithm_keeps_bounds_above_0_where_all_draws_are():
    skewed = np.append(np.full(15, 1.0), 1000.0) + np.linspace(0, 0.1, 16)
    assert mean_of(skewed).low < 0 < mean_of(skewed, scale="log").low
    crossing = np.linspace(-1, 1.2, 16)
    assert mean_of(crossing, scale="log") == mean_of(crossing)
