import numpy as np
import pytest

from wmel.analysis.horizon import horizon_set
from wmel.errors import BadInput

HORIZONS = [5, 10, 15, 20, 30]


def outcomes(*counts, n=30):
    return [np.arange(n) < count for count in counts]


@pytest.mark.parametrize("epsilon", [0.05, 0.10])
def test_the_published_example_leaves_ten_to_thirty(epsilon):
    assert horizon_set(HORIZONS, outcomes(0, 27, 30, 30, 30), epsilon) == (10, 30)


def test_more_episodes_shrink_the_set():
    assert horizon_set(HORIZONS, outcomes(0, 1800, 2000, 2000, 2000, n=2000), 0.01) == (15, 15)


def test_a_single_horizon_is_its_own_set():
    assert horizon_set([7], outcomes(3), 0.01) == (7, 7)


def test_unequal_outcomes_are_refused():
    with pytest.raises(BadInput, match="outcomes of the same seeds"):
        horizon_set([5, 10], [np.ones(3, bool), np.ones(4, bool)], 0.01)


@pytest.mark.parametrize(
    ("horizons", "counts", "epsilon", "words"),
    [
        ([5, 10, 15], (3, 4), 0.01, "outcomes per horizon, got 3 and 2"),
        ([10, 5], (3, 4), 0.01, "shortest first"),
        ([5, 5], (3, 4), 0.01, "shortest first"),
        ([5, 10], (3, 4), -0.1, "epsilon must lie in"),
        ([5, 10], (3, 4), float("nan"), "epsilon must lie in"),
        ([5, 10], (3, 4), "x", "epsilon must lie in"),
        ([], (), 0.01, "outcomes of the same seeds"),
    ],
)
def test_sweeps_that_make_no_set_are_refused(horizons, counts, epsilon, words):
    with pytest.raises(BadInput, match=words):
        horizon_set(horizons, outcomes(*counts), epsilon)


def test_the_set_holds_the_truth_as_often_as_it_claims():
    """Rates .2, .8, .8: the true effective horizon is the second; 100 sweeps of 40 episodes on shared seeds."""
    rng, held = np.random.default_rng(0), 0
    for _ in range(100):
        luck = rng.random(40)
        low, high = horizon_set([1, 2, 3], [luck < 0.2, luck < 0.8, rng.random(40) < 0.8], 0.05)
        held += low <= 2 <= high
    assert held / 100 > 0.9
