import math

import pytest

pytest.importorskip("torch", reason="install wmel[learned]")

import torch

from wmel.diagnostics.ceiling_bounce.problem import distances, launch_model, meets_ceiling
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
