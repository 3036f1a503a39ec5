import math

import numpy as np
import pytest

pytest.importorskip("torch", reason="install wmel[learned]")

from wmel.diagnostics.ceiling_bounce.problem import STEP, landscape

SIGMA = 0.03
TABLE = [  # speed, contact from, to, jump up, best before it, best of all
    (4.75, 0.720, 0.727, 0.22, 2.28, 2.30),
    (5.0, 0.677, 0.694, 0.40, 2.49, 2.55),
    (5.5, 0.606, 0.646, 0.78, 2.89, 3.08),
    (6.0, 0.549, 0.613, 1.21, 3.27, 3.67),
    (7.0, 0.464, 0.570, 2.19, 4.00, 4.99),
    (8.0, 0.402, 0.544, 3.34, 4.70, 6.52),
    (10.0, 0.325, 0.514, 6.16, 6.16, 10.19),
]


@pytest.mark.parametrize(("speed", "start", "end", "jump", "before", "best"), TABLE)
def test_contact_jump_and_maxima_are_those_of_the_table(speed, start, end, jump, before, best):
    found = landscape(speed, SIGMA)
    assert found.contact_interval is not None and found.jump_up is not None
    assert [round(one, 3) for one in found.contact_interval] == [start, end]
    assert round(found.jump_up, 2) == jump
    assert (round(found.best_before_contact or 0, 2), round(found.best, 2)) == (before, best)
    assert found.best_angle == pytest.approx(math.pi / 4, abs=STEP)


def test_slow_launches_never_meet_the_ceiling():
    assert landscape(math.sqrt(2 * 9.81), SIGMA).contact_interval is None
    assert landscape(4.5, SIGMA).contact_interval is not None


@pytest.mark.parametrize("speed", [5.0, 8.0, 8.4])
def test_the_contact_starts_where_the_highest_point_grazes_the_ceiling(speed):
    found = landscape(speed, SIGMA)
    assert found.contact_interval is not None
    assert found.contact_interval[0] == pytest.approx(math.asin(math.sqrt(9.81) / speed), abs=STEP)
    assert abs(found.change_at_contact or 0) < 0.05


def test_fast_launches_meet_its_far_edge_first_and_fall_short():
    assert round(landscape(10.0, SIGMA).change_at_contact or 0, 2) == -0.91


@pytest.mark.parametrize("speed", [4.5, 6.0, 9.0, 30.0, 100.0])
def test_the_contact_is_one_interval(speed):
    assert np.abs(np.diff(landscape(speed, SIGMA).contact.astype(int))).sum() == 2


def test_without_contact_noise_only_shrinks_the_curve():
    found, angles = landscape(4.0, SIGMA), np.linspace(-1, 1, 21)
    shrunk = math.exp(-2 * SIGMA**2) * 16 / 9.81
    np.testing.assert_allclose(found.smoothed_at(angles), shrunk * np.sin(2 * angles), atol=1e-6)
    np.testing.assert_allclose(found.slope_at(angles), 2 * shrunk * np.cos(2 * angles), atol=1e-5)


@pytest.mark.parametrize("speed", [5.0, 6.0, 10.0])
def test_the_slope_is_that_of_the_mean_across_the_jump_too(speed):
    found, angles = landscape(speed, SIGMA), np.linspace(0, 1, 51)
    step = 50 * STEP
    differences = (found.smoothed_at(angles + step) - found.smoothed_at(angles - step)) / (2 * step)
    np.testing.assert_allclose(found.slope_at(angles), differences, atol=0.02 * abs(differences).max())


def test_the_mean_is_that_of_draws():
    found, noise = landscape(6.0, SIGMA), np.random.default_rng(0).normal(size=200_000)
    drawn = np.interp(0.6 + SIGMA * noise, found.angles, found.distances)
    assert found.smoothed_at(np.array(0.6)) == pytest.approx(drawn.mean(), abs=4 * drawn.std() / 200_000**0.5)


def test_near_the_contact_is_two_deviations_to_either_side():
    found = landscape(5.0, SIGMA)
    assert found.near_contact(np.array([0.61, 0.62, 0.685, 0.75, 0.76])).tolist() == [False, True, True, True, False]
    assert not landscape(4.0, SIGMA).near_contact(np.linspace(0, 1, 5)).any()
