"""Each metric on a table whose answer is known by hand."""

import numpy as np
import pytest

from tests.analysis.tables import table
from wmel.catalog import METRICS


def value(name, **columns):
    return METRICS.load(name)(table(**columns)).value


def test_an_episode_that_broke_is_a_failure():
    assert value("success_rate", success=[True, False, False, True], error=["", "broke", "", ""]) == 0.5
    assert value("error_rate", success=[True, False, False, True], error=["", "broke", "", ""]) == 0.25


def test_steps_are_averaged_over_successes_only():
    steps = {"success": [True, False, True], "steps": [10, 60, 20], "first_success_step": [10, -1, 20]}
    assert value("average_steps_to_success", **steps) == 15


def test_the_interquartile_mean_leaves_out_the_best_and_the_worst_quarter_of_whole_episodes():
    returns = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 1000.0, np.nan]
    assert value("interquartile_mean_return", **{"return": returns}) == 35  # (20 + 30 + 40 + 50) / 4
    assert METRICS.load("interquartile_mean_return")(table(**{"return": [np.nan]})).reason


def test_without_a_success_steps_are_undefined():
    estimate = METRICS.load("average_steps_to_success")(table(success=[False]))
    assert estimate.value is None and estimate.reason == "no episode succeeded"


def test_latency_averages_over_decisions_not_over_episodes():
    assert value("average_planning_latency_ms", planning_latencies_ms=[(1.0,), (2.0, 3.0), ()]) == 2.0


def test_compute_per_decision_is_the_published_formula():
    """4000 per plan call, 2 and 3 calls, 10 and 30 steps: 20000 / 40."""
    assert value("average_compute_per_decision", declared_compute=[8000.0, 12000.0], steps=[10, 30]) == 500


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"declared_compute": [np.nan], "steps": [5]}, "declares no compute"),
        ({"declared_compute": [10.0], "steps": [0]}, "no step was executed"),
    ],
)
def test_compute_that_cannot_be_known_is_undefined(columns, reason):
    estimate = METRICS.load("average_compute_per_decision")(table(**columns))
    assert estimate.value is None and reason in estimate.reason


def test_pre_solved_starts_are_counted():
    assert value("pre_solved_rate", pre_solved=[True, False, False, False]) == 0.25
