"""The interval of a training recipe holds for trainings that differ in any way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmel.errors import BadInput
from wmel.stats.proportions import MIN_TRAININGS, bounded_mean, clopper_pearson, recipe_gap

rates = st.lists(st.integers(0, 50).map(lambda count: count / 50), min_size=1, max_size=20)


@given(st.integers(1, 25), st.data())
def test_of_zeros_and_ones_the_bounds_are_exact(count, data):
    """A second implementation: Clopper and Pearson's bounds."""
    ones = data.draw(st.integers(0, count))
    found, exact = bounded_mean([1.0] * ones + [0.0] * (count - ones)), clopper_pearson(ones, count)
    assert (float(found.low), float(found.high)) == pytest.approx((float(exact.low), float(exact.high)), abs=1e-9)


def test_the_bounds_are_quantiles_of_randomly_weighted_means():
    """A second implementation: by sampling the weights."""
    values = np.random.default_rng(3).random(6)
    weights = np.random.default_rng(4).dirichlet(np.ones(7), 100_000)
    high, low = np.quantile(weights @ np.append(values, 1), 0.975), np.quantile(weights @ np.append(values, 0), 0.025)
    assert tuple(map(float, bounded_mean(values))) == pytest.approx((low, high), abs=3e-3)


@given(rates)
def test_the_bounds_hold_the_mean_stay_in_range_and_mirror(values):
    low, high = bounded_mean(values)
    assert 0 <= low <= np.mean(values) + 1e-9 and np.mean(values) - 1e-9 <= high <= 1
    mirrored = bounded_mean(1 - np.array(values))
    assert (float(mirrored.low), float(mirrored.high)) == pytest.approx((1 - float(high), 1 - float(low)), abs=1e-9)


@given(rates, st.data())
def test_a_higher_rate_never_lowers_a_bound(values, data):
    place = data.draw(st.integers(0, len(values) - 1))
    raised = [*values[:place], min(1.0, values[place] + 0.2), *values[place + 1 :]]
    for bound, higher in zip(bounded_mean(values), bounded_mean(raised), strict=True):
        assert higher >= bound - 1e-9


def failing(share):
    return lambda rng, count: np.where(rng.random(count) < share, 0.0, 0.9), 0.9 * (1 - share)


def normal(deviation):
    """Symmetric around .5, so that clipping does not move the mean."""
    return lambda rng, count: np.clip(rng.normal(0.5, deviation, count), 0, 1), 0.5


@pytest.mark.parametrize("trainings", [3, 5, 10])
@pytest.mark.parametrize("kind", [failing(0.05), failing(0.2), failing(0.5), normal(0.0), normal(0.3)])
def test_the_interval_covers_trainings_that_fail_now_and_then(trainings, kind):
    """The published intervals covered .31 to .92 where one training in five failed."""
    (sample, mean), rng, covered, runs = kind, np.random.default_rng(trainings), 0, 250
    for _ in range(runs):
        learned = rng.binomial(50, sample(rng, trainings)) / 50
        found = recipe_gap(rng.binomial(50 * trainings, 0.95), 50 * trainings, learned.tolist())
        covered += found.low <= 0.95 - mean <= found.high
    assert covered / runs >= 0.90


@given(st.integers(0, 150), rates.filter(lambda values: len(values) >= MIN_TRAININGS))
def test_the_interval_of_a_gap_holds_it_and_lies_in_range(successes, values):
    found = recipe_gap(successes, 150, values)
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert found.n == len(values) and found.value == pytest.approx(successes / 150 - np.mean(values))


@pytest.mark.parametrize("count", [1, 2])
def test_a_few_trainings_show_nothing_of_the_recipe(count):
    found = recipe_gap(50, 50, [1.0] * count)
    assert found.value is None and str(count) in found.reason and str(MIN_TRAININGS) in found.reason


@pytest.mark.parametrize("values", [[], ["a"], [0.5, 1.5], [-0.1, 0.2, 0.3]])
def test_what_is_no_rate_is_refused(values):
    with pytest.raises(BadInput):
        recipe_gap(50, 50, values)
