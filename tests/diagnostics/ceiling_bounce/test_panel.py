import math

import numpy as np
import pytest

pytest.importorskip("torch", reason="install wmel[learned]")

from wmel.diagnostics.ceiling_bounce.panel import (
    ANGLES,
    ESTIMATORS,
    FIRST_ORDER,
    ITERATIONS,
    LAUNCHES,
    RATE,
    SIGMA,
    STEPS,
    PanelReading,
    ascend,
    measure_panel,
)
from wmel.diagnostics.ceiling_bounce.problem import landscape
from wmel.errors import BadInput
from wmel.stats.estimate import Estimate


@pytest.fixture(scope="module")
def counted():
    return []


@pytest.fixture(scope="module")
def six(counted):
    return measure_panel(6.0, 24, progress=counted.append)


def named(panel, name):
    return next(one for one in panel.readings if one.name == name)


def height(rows) -> PanelReading:
    return PanelReading("any", np.zeros(3), 0.0, Estimate.undefined(""), np.array(rows, float))


def test_the_most_signal_gets_nowhere_where_less_gets_across():
    fog, cem = ESTIMATORS[:2]
    signal = [np.mean(one.ratios(6.0, ANGLES[::5]).per_observation) for one in (fog, cem)]
    assert signal[0] > 1000 * signal[1] / LAUNCHES
    _, end = landscape(6.0, SIGMA).contact_interval or (0, 0)
    assert (ascend(fog, 6.0, 16)[-1] < end).all()
    assert (ascend(cem, 6.0, 16)[-1] > end).all()


@pytest.mark.slow
def test_first_order_gradients_have_the_highest_esnr_and_stay_before_the_contact(six):
    fog = six.first_order
    assert all(fog.mean > 1000 * one.mean for one in six.without_first_order)
    assert fog.reached.value == 0
    assert named(six, "CEM 8/64").reached.value == named(six, "ZoG leave-one-out").reached.value == 1


@pytest.mark.slow
def test_the_ratios_are_those_of_the_notes(six):
    known = {"FoG": (6988, 0.05), "CEM 8/64": (0.93, 0.04), "ZoG leave-one-out": (0.43, 0.05), "MPPI": (0.024, 0.05)}
    for name, (ratio, share) in known.items():
        assert named(six, name).mean == pytest.approx(ratio, rel=share)
    assert named(six, "CEM 8/64").literal == pytest.approx(26_907, rel=0.06)
    assert named(six, "MPPI").literal == pytest.approx(64 * np.mean(six.angles**2) / SIGMA**2, rel=0.03)


@pytest.mark.slow
def test_without_curvature_the_ratio_of_first_order_gradients_is_exact(six):
    at_zero = six.first_order.ratios[np.flatnonzero(six.angles == 0)[0]]
    mean, square = math.exp(-2 * SIGMA**2), (1 + math.exp(-8 * SIGMA**2)) / 2  # of cos(2 noise)
    assert at_zero == pytest.approx(mean**2 / (square - mean**2), rel=0.2)


@pytest.mark.slow
def test_signal_foretells_speed_only_without_first_order_gradients(six):
    assert (six.correlation(six.without_first_order).value or 0) > 0.6 > (six.correlation().value or 1)


@pytest.mark.slow
def test_progress_counts_to_its_total(six, counted):
    assert sum(counted) == STEPS == 22 * len(ESTIMATORS)


def test_area_share_and_median_of_known_ascents():
    three = height([[0, 0, 0], [0.96, 0.5, 0.2], [0.5, 0.96, 0.2]])
    assert three.speed_of_ascent.value == pytest.approx((0.73 + 0.73 + 0.2) / 3)
    assert three.reached.value == pytest.approx(2 / 3)
    assert three.median_iterations.value == 2


def test_a_median_that_is_never_reached_says_so():
    assert "fewer than half" in height([[0, 0, 0], [0.96, 0, 0]]).median_iterations.reason


@pytest.mark.parametrize(
    ("speed", "seeds", "words"),
    [
        (0.0, 3, "launch speed must lie in"),
        (float("nan"), 3, "launch speed must lie in"),
        (101.0, 3, "launch speed must lie in"),
        (5.0, 0, "must be positive"),
        (5.0, 10**9, "at most 100000 seeds"),
    ],
)
def test_what_cannot_be_measured_is_refused(speed, seeds, words):
    with pytest.raises(BadInput, match=words):
        measure_panel(speed, seeds)


NAMES = [one.name for one in ESTIMATORS]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=NAMES)
def test_every_ascent_starts_at_the_horizon_and_begins_with_a_whole_step(estimator):
    path = ascend(estimator, 4.0, 5)
    assert path.shape == (ITERATIONS + 1, 5)
    assert (path[0] == 0).all() and np.allclose(abs(path[1]), RATE)


def test_a_seed_climbs_the_same_way_in_any_company():
    few, many = (ascend(FIRST_ORDER, 6.0, seeds) for seeds in (3, 8))
    assert np.array_equal(few, many[:, :3])
    assert len(np.unique(many[-1])) == 8


def test_where_nothing_jumps_first_order_gradients_find_the_best_angle():
    assert ascend(FIRST_ORDER, 4.0, 8)[-1] == pytest.approx(np.pi / 4, abs=0.1)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=NAMES)
def test_a_step_points_up_the_slope_far_from_the_contact(estimator):
    assert (estimator.gradient(5.0, np.full(16, 0.1), 1) > 0).mean() >= 0.6


def test_a_population_makes_one_gradient_and_64_samples_make_another():
    cem, zog = ESTIMATORS[1], ESTIMATORS[4]
    spread = [estimator.gradient(5.0, np.full(400, 0.2), 3).std() for estimator in (cem, zog)]
    whole = [estimator.ratios(5.0, np.array([0.2])).signal.variances[0, 0] ** 0.5 for estimator in (cem, zog)]
    assert spread[0] == pytest.approx(whole[0], rel=0.15)
    assert spread[1] == pytest.approx(whole[1] / 8, rel=0.15)
