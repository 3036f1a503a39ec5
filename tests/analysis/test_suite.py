"""The gap of a suite is the weighted mean of the gaps of its tasks, and its interval covers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wmel
from wmel.analysis.gap import counterfactual_planning_gap, suite_gap
from wmel.errors import BadInput

arm_counts = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.integers(0, n), st.just(n)))


@given(st.lists(arm_counts, min_size=1, max_size=5))
def test_of_equal_arms_it_is_the_gap_of_all_episodes_together(counts):
    """The additivity of the CPG paper."""
    tasks = {str(place): ((s_o, n), (s_l, n)) for place, (s_o, s_l, n) in enumerate(counts)}
    found, total = suite_gap(tasks), sum(n for *_, n in counts)
    pooled = sum(s_o for s_o, *_ in counts) / total - sum(s_l for _, s_l, _ in counts) / total
    assert found.gap.value == pytest.approx(pooled)
    assert -1 - 1e-9 <= found.gap.low <= pooled + 1e-9 and pooled - 1e-9 <= found.gap.high <= 1 + 1e-9
    assert sum(found.weights.values()) == pytest.approx(1)


@given(arm_counts)
def test_one_task_is_its_own_suite(counts):
    s_o, s_l, n = counts
    alone = counterfactual_planning_gap((s_o, n), (s_l, n)).gap
    found = suite_gap({"only": ((s_o, n), (s_l, n))}).gap
    assert (found.value, found.low, found.high) == pytest.approx((alone.value, alone.low, alone.high))


def test_unequal_shares_of_episodes_do_not_make_a_gap():
    """90/100 v 9/10 and 1/10 v 10/100 are both gap 0 and would pool to +.655."""
    found = wmel.suite_gap({"easy": ((90, 100), (9, 10)), "hard": ((1, 10), (10, 100))})
    assert found.gap.value == pytest.approx(0) and found.gap.low < 0 < found.gap.high


def test_weights_are_those_given():
    tasks = {"a": ((9, 10), (1, 10)), "b": ((5, 10), (5, 10))}
    assert suite_gap(tasks, {"a": 1, "b": 3}).gap.value == pytest.approx(0.2)
    assert suite_gap(tasks, {"a": 0, "b": 2}).weights == {"a": 0.0, "b": 1.0}


def test_its_interval_covers_the_mean_of_different_tasks():
    """300 suites of three tasks: the standard error of a coverage of .95 is .013."""
    rng, covered = np.random.default_rng(0), 0
    rates = [(0.9, 0.5, 40), (0.5, 0.5, 20), (1.0, 0.9, 30)]
    truth = sum(n * (one - other) for one, other, n in rates) / sum(n for *_, n in rates)
    for _ in range(300):
        tasks = {str(n): ((rng.binomial(n, one), n), (rng.binomial(n, other), n)) for one, other, n in rates}
        gap = suite_gap(tasks).gap
        covered += gap.low <= truth <= gap.high
    assert covered / 300 >= 0.92


@pytest.mark.parametrize(
    ("tasks", "weights"),
    [
        ({}, None),
        ([1], None),
        ({"a": 3}, None),
        ({"a": ((1, 2), (1, 2))}, {"b": 1}),
        ({"a": ((1, 2), (1, 2))}, {"a": -1}),
        ({"a": ((1, 2), (1, 2))}, {"a": 0}),
        ({"a": ((1, 2), (1, 2))}, {"a": "x"}),
    ],
)
def test_what_is_no_suite_is_refused(tasks, weights):
    with pytest.raises(BadInput):
        suite_gap(tasks, weights)
