import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmel.errors import BadInput
from wmel.stats.estimate import wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"), [(0, 30, 0.0, 0.1135), (27, 30, 0.7438, 0.9654), (30, 30, 0.8865, 1.0)]
)
def test_the_published_values(successes, trials, low, high):
    estimate = wilson(successes, trials)
    assert (round(estimate.low, 4), round(estimate.high, 4)) == (low, high)


def test_all_of_73_are_the_fewest_with_a_lower_bound_of_95_percent():
    assert wilson(72, 72).low < 0.95 <= wilson(73, 73).low


counts = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts)
def test_the_bounds_solve_the_score_equation(case):
    """Wilson's bounds are the p with |share - p| = 1.96 sqrt(p (1 - p) / n)."""
    successes, trials = case
    estimate = wilson(successes, trials)
    for bound in {estimate.low, estimate.high} - {0.0, 1.0}:
        assert abs(successes / trials - bound) == pytest.approx(1.96 * (bound * (1 - bound) / trials) ** 0.5, rel=1e-6)


@given(counts)
def test_the_interval_holds_the_share_and_mirrors_with_it(case):
    successes, trials = case
    estimate, mirrored = wilson(successes, trials), wilson(trials - successes, trials)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert estimate.low == pytest.approx(1 - mirrored.high, abs=1e-12)


def test_no_trials_are_undefined():
    assert wilson(0, 0).value is None and wilson(0, 0).reason == "no trials"


@pytest.mark.parametrize("case", [(-1, 10), (11, 10)])
def test_impossible_counts_are_refused(case):
    with pytest.raises(BadInput, match="between 0 and the number"):
        wilson(*case)
