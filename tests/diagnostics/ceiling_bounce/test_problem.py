import math

import numpy as np
import pytest

pytest.importorskip("torch", reason="install wmel[learned]")

import torch

from wmel.diagnostics.ceiling_bounce.problem import STEP, distances, landscape, launch_model, meets_ceiling
from wmel.diagnostics.esnr.measure import esnr

ANGLES = torch.linspace(-0.2, 1.2, 1401, dtype=torch.float64)


@pytest.mark.parametrize("speed", [3.0, 5.0, 6.0, 10.0])
def test_below_the_ceiling_it_is_the_range_of_a_throw(speed):
    free = ~meets_ceiling(ANGLES, speed)
    expected = speed**2 * torch.sin(2 * ANGLES) / 9.81
    assert torch.allclose(distances(ANGLES, speed)[free], expected[free])


def test_a_bounce_is_two_throws_one_after_the_other():
    angle, speed = 0.6, 6.0
    across, up = speed * math.cos(angle), speed * math.sin(angle)
    contact_s = (up - math.sqrt(up**2 - 2 * 9.81 * 0.5)) / 9.81
    after = -0.5 * (up - 9.81 * contact_s)
    fall_s = next(t for t in (k * 1e-6 for k in range(10**6)) if 0.5 + after * t - 9.81 * t**2 / 2 <= 0)
    assert 1 <= across * contact_s <= 2.5
    assert float(distances(torch.tensor([angle], dtype=torch.float64), speed)) == pytest.approx(
        across * (contact_s + fall_s), abs=1e-5
    )


@pytest.mark.parametrize("speed", [4.0, 5.0, 6.0, 10.0])
def test_autograd_is_the_slope_wherever_there_is_no_jump(speed):
    step = 1e-6
    contact = [meets_ceiling(ANGLES + move, speed) for move in (-1e-3, 0.0, 1e-3)]
    smooth = (contact[0] == contact[1]) & (contact[1] == contact[2])
    leaf = ANGLES.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(distances(leaf, speed).sum(), leaf)
    differences = (distances(ANGLES + step, speed) - distances(ANGLES - step, speed)) / (2 * step)
    assert smooth.sum() > 1300
    assert torch.allclose(gradient[smooth], differences[smooth], atol=1e-4)


def test_gradients_are_finite_everywhere():
    leaf = torch.linspace(-3.2, 3.2, 100_001).requires_grad_()
    (gradient,) = torch.autograd.grad(distances(leaf, 6.0).sum(), leaf)
    assert gradient.isfinite().all()


def test_as_a_model_its_return_is_the_distance():
    found = esnr(launch_model(4.0), [[0.0]], "fog", mean=[[0.3]], sigma=1e-3, samples=64)
    assert found.signal.means[0, 0] == pytest.approx(2 * 16 * math.cos(0.6) / 9.81, rel=1e-3)


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


def change_at_contact(found) -> float:
    """Metres gained at the start of the contact: almost none if the ball grazes it, negative above 8.43 m/s."""
    first = int(np.flatnonzero(found.contact)[0])
    return float(found.distances[first] - found.distances[first - 1])


@pytest.mark.parametrize("speed", [5.0, 8.0, 8.4])
def test_the_contact_starts_where_the_highest_point_grazes_the_ceiling(speed):
    found = landscape(speed, SIGMA)
    assert found.contact_interval is not None
    assert found.contact_interval[0] == pytest.approx(math.asin(math.sqrt(9.81) / speed), abs=STEP)
    assert abs(change_at_contact(found)) < 0.05


def test_fast_launches_meet_its_far_edge_first_and_fall_short():
    assert round(change_at_contact(landscape(10.0, SIGMA)), 2) == -0.91


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
    sampled = np.interp(0.6 + SIGMA * noise, found.angles, found.distances)
    assert found.smoothed_at(np.array(0.6)) == pytest.approx(sampled.mean(), abs=4 * sampled.std() / 200_000**0.5)


def test_near_the_contact_is_two_deviations_to_either_side():
    found = landscape(5.0, SIGMA)
    assert found.near_contact(np.array([0.61, 0.62, 0.685, 0.75, 0.76])).tolist() == [False, True, True, True, False]
    assert not landscape(4.0, SIGMA).near_contact(np.linspace(0, 1, 5)).any()
