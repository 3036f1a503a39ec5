"""Against formulas in float64; a few units in the last place of float32 are allowed."""

import numpy as np
import pytest

from wmel.models.compiled import forward as activations

ULP = 2.0**-23
LOWEST = -87  # further down e^x is hardly a normal number of float32, and nothing may be left
EDGES = [-3e38, -1e30, -89, -88, -87, -1e-30, 0, 1e-30, 40, 41, 88, 89, 1e30, 3e38]
GRID = np.concatenate([np.linspace(-100, 100, 20_001), np.linspace(-1, 1, 2001), EDGES]).astype(np.float32)


def of(activation, numbers):
    made = numbers.astype(np.float32)
    activation(made)
    return made.astype(np.float64)


def test_mish():
    """x q / (q + 1) with q = e^x + e^2x / 2, which is x tanh(log(1 + e^x))."""
    wide = GRID.astype(np.float64)
    wanted = wide * np.tanh(np.logaddexp(0, wide))
    inside = wide > LOWEST
    np.testing.assert_allclose(of(activations.mish, GRID)[inside], wanted[inside], rtol=8 * ULP)
    assert np.abs(of(activations.mish, GRID[~inside])).max() < 2e-36
    assert of(activations.mish, np.array([np.inf])).item() == np.inf


def test_silu():
    wide = GRID.astype(np.float64)
    wanted = wide * np.exp(-np.logaddexp(0, -wide))
    inside = wide > LOWEST
    np.testing.assert_allclose(of(activations.silu, GRID)[inside], wanted[inside], rtol=8 * ULP)
    assert np.abs(of(activations.silu, GRID[~inside])).max() < 2e-36
    assert of(activations.silu, np.array([np.inf])).item() == np.inf


def test_relu_and_what_is_no_number():
    assert of(activations.relu, np.array([-2.0, 0.0, 3.0, np.inf])).tolist() == [0, 0, 3, np.inf]
    for activation in (activations.mish, activations.silu, activations.relu):
        made = of(activation, np.array([1.0, np.nan, 2.0] + [0.5] * 14))
        assert np.isnan(made[1]) and np.isfinite(np.delete(made, 1)).all()
    for activation in (activations.mish, activations.silu):
        assert np.isnan(of(activation, np.array([-np.inf]))).all(), "as torch has it"


@pytest.mark.parametrize("groups", [1, 2, 16, 17])
@pytest.mark.parametrize("moved", [0.0, 300.0, -300.0, 3e4])
def test_simplex(groups, moved):
    """Softmax of each eight, wherever they lie: what all have in common does not matter."""
    numbers = (np.random.default_rng(groups).normal(0, 4, groups * 8) + moved).astype(np.float32)
    grown = numbers.astype(np.float64).reshape(groups, 8)
    grown = np.exp(grown - grown.max(1, keepdims=True))
    made = of(activations.simplex, numbers).reshape(groups, 8)
    np.testing.assert_allclose(made, grown / grown.sum(1, keepdims=True), rtol=16 * ULP, atol=1e-37)


def test_a_simplex_keeps_what_is_no_number_in_its_group():
    numbers = np.zeros(16, np.float32)
    numbers[:8] = np.nan
    made = of(activations.simplex, numbers)
    assert np.isnan(made[:8]).all() and made[8:].tolist() == [0.125] * 8


@pytest.mark.parametrize("width", [1, 5, 8, 17, 384])
def test_layer_norm(width):
    rng = np.random.default_rng(width)
    numbers, gain, shift = (rng.normal(3, 2, width).astype(np.float32) for _ in range(3))
    made = numbers.copy()
    activations.layer_norm(made, gain, shift, np.float32(1e-5))
    wide = numbers.astype(np.float64)
    wanted = (wide - wide.mean()) / np.sqrt(wide.var() + 1e-5) * gain + shift
    np.testing.assert_allclose(made, wanted, atol=2e-5)


@pytest.mark.parametrize("large", [1e20, 1e25, 1e38, np.inf, np.nan])
def test_a_layer_norm_of_numbers_too_large_to_square_is_none(large):
    numbers = np.array([large, -large, 1, 2], np.float32)
    activations.layer_norm(numbers, np.ones(4, np.float32), np.zeros(4, np.float32), np.float32(1e-5))
    assert np.isnan(numbers).all()
