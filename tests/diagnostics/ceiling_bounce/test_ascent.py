import numpy as np
import pytest

pytest.importorskip("torch", reason="install wmel[learned]")

from wmel.diagnostics.ceiling_bounce.estimators import ESTIMATORS, FIRST_ORDER, ITERATIONS, RATE, ascents

NAMES = [one.name for one in ESTIMATORS]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=NAMES)
def test_every_ascent_starts_at_the_horizon_and_begins_with_a_whole_step(estimator):
    path = ascents(estimator, 4.0, 5)
    assert path.shape == (ITERATIONS + 1, 5)
    assert (path[0] == 0).all() and np.allclose(abs(path[1]), RATE)


def test_a_seed_climbs_the_same_way_in_any_company():
    few, many = (ascents(FIRST_ORDER, 6.0, seeds) for seeds in (3, 8))
    assert np.array_equal(few, many[:, :3])
    assert len(np.unique(many[-1])) == 8


def test_where_nothing_jumps_first_order_gradients_find_the_best_angle():
    assert ascents(FIRST_ORDER, 4.0, 8)[-1] == pytest.approx(np.pi / 4, abs=0.1)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=NAMES)
def test_a_step_points_up_the_slope_far_from_the_contact(estimator):
    assert (estimator.step(5.0, np.full(16, 0.1), moment=1) > 0).mean() >= 0.6


def test_a_population_makes_one_gradient_and_64_samples_make_another():
    cem, zog = ESTIMATORS[1], ESTIMATORS[4]
    spread = [estimator.step(5.0, np.full(400, 0.2), moment=3).std() for estimator in (cem, zog)]
    whole = [estimator.ratios(5.0, np.array([0.2])).signal.variances[0, 0] ** 0.5 for estimator in (cem, zog)]
    assert spread[0] == pytest.approx(whole[0], rel=0.15)
    assert spread[1] == pytest.approx(whole[1] / 8, rel=0.15)
