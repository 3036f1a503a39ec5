import numpy as np
import pytest
import torch

from tests.diagnostics.esnr.worlds import quadratic
from wmel.diagnostics.esnr.measure import esnr
from wmel.diagnostics.esnr.signal import Signal
from wmel.models.callable_model import PairModel

APART = np.array([0.0, 0.3, 1.0])  # of the mean from the optimum, in sigmas


@pytest.mark.parametrize(("samples", "observations"), [(8, 20_000), (32, 10_000)])
def test_normal_gradients_overstate_their_ratio_by_the_known_bias(samples, observations):
    """E[raw] = (S-1)/(S-3) (SNR + 1/S); the error of the mean follows from the variance of the noncentral F."""
    found = esnr(
        quadratic(-APART), np.zeros((observations, 1)), "fog", mean=np.zeros((1, 3)), sigma=1.0, samples=samples,
        rows=10**6,
    )  # fmt: skip
    n, shift = samples - 1, samples * APART**2
    variance = 2 * ((1 + shift) ** 2 + (1 + 2 * shift) * (n - 2)) / ((n - 2) ** 2 * (n - 4)) * n**2 / samples**2
    error = 5 * np.sqrt(variance / observations)
    biased = (samples - 1) / (samples - 3) * (APART**2 + 1 / samples)
    assert (abs(found.signal.raw.mean(axis=0) - biased) < error).all()
    assert (abs(found.signal.gaussian.mean(axis=0) - APART**2) < error).all()
    assert found.raw == pytest.approx(biased.mean(), abs=error.mean())
    assert found.gaussian == pytest.approx((APART**2).mean(), abs=error.mean())
    assert (found.signal.gaussian < 0).any(), "cut off at zero, the average is too high"


def test_skewed_gradients_need_the_jackknife():
    """ESNR.md 1.6: .464 / .444 / .397 for a truth of 8/21, one action two sigmas from the optimum, S = 100.

    Allowed is 5 sd / sqrt(B) and the rounding of the three numbers.
    """
    model = PairModel(*quadratic([2.0]), value=lambda z: torch.full((len(z),), -5.0))
    found = esnr(
        model, np.zeros((8000, 1)), "zog", mean=np.zeros((1, 1)), sigma=1.0, samples=100, baseline="value", rows=10**6
    )  # fmt: skip
    truth = 4 * 4 / (8 * 4 + 10)
    assert truth == pytest.approx(0.381, abs=5e-4)
    for name, known in (("raw", 0.464), ("gaussian", 0.444), ("jackknife", 0.397)):
        each = getattr(found.signal, name)[:, 0]
        assert getattr(found, name) == pytest.approx(each.mean())
        assert each.mean() == pytest.approx(known, abs=5 * each.std() / np.sqrt(len(each)) + 5e-4), name
    assert abs(found.jackknife - truth) < abs(found.gaussian - truth) / 2 < abs(found.raw - truth)
    assert found.per_observation.mean() == pytest.approx(found.jackknife), "100 samples are enough for it"


def test_the_jackknife_leaves_out_each_sample_once():
    samples = np.random.default_rng(0).gamma(2.0, size=(3, 9, 2))
    samples[1, 4] = np.nan
    found = Signal(samples).jackknife
    for row, numbers in enumerate(samples):
        kept = numbers[np.isfinite(numbers).all(axis=1)]

        def ratio(some):
            return some.mean(axis=0) ** 2 / some.var(axis=0, ddof=1)

        without = [ratio(np.delete(kept, out, axis=0)) for out in range(len(kept))]
        expected = len(kept) * ratio(kept) - (len(kept) - 1) * np.mean(without, axis=0)
        np.testing.assert_allclose(found[row], expected, rtol=1e-9)


def test_mean_and_variance_are_those_of_the_finite_samples():
    samples = np.random.default_rng(1).normal(size=(4, 10, 3))
    broken = samples.copy()
    broken[0, 3, 1], broken[2, 0, 0], broken[2, 9, 2] = np.nan, np.inf, -np.inf
    found = Signal(broken)
    assert found.broken_share == pytest.approx(3 / 40)
    for row, out in ((0, [3]), (1, []), (2, [0, 9]), (3, [])):
        alone = Signal(np.delete(samples[row], out, axis=0)[None])
        for name in ("means", "variances", "raw", "gaussian", "jackknife", "literal", "power", "noise"):
            np.testing.assert_allclose(getattr(found, name)[row], getattr(alone, name)[0], rtol=1e-12, err_msg=name)


def test_a_gradient_of_zero_is_dead_and_one_without_noise_infinite():
    samples = np.random.default_rng(0).normal(size=(2, 8, 4))
    samples[:, :, 0], samples[:, :, 1], samples[0, :, 2] = 0.0, 0.1, -1e-12
    found = Signal(samples)
    rounded = "beside gradients of 1, float32 cannot tell 1e-12 from 0"
    np.testing.assert_array_equal(found.dead, [[True, False, True, False], [True, False, False, False]], rounded)
    np.testing.assert_array_equal(found.infinite, [[False, True, False, False]] * 2)
    assert np.isnan(found.raw[0, :3]).all() and np.isfinite(found.raw[:, 3]).all()
    assert np.isfinite(found.by_observation(found.jackknife)).all()


@pytest.mark.parametrize("size", [1e-12, 1e-3, 1e9])
def test_ratios_know_no_units(size):
    samples = np.random.default_rng(0).normal(0.3, 1, (5, 16, 3))
    for name in ("raw", "gaussian", "jackknife"):
        np.testing.assert_allclose(getattr(Signal(size * samples), name), getattr(Signal(samples), name), rtol=1e-9)


def test_an_observation_with_fewer_than_four_finite_samples_has_no_ratio():
    samples = np.random.default_rng(0).normal(size=(2, 6, 1))
    samples[0, 3:] = np.nan
    found = Signal(samples)
    assert np.isnan(found.raw[0]).all() and np.isfinite(found.raw[1]).all()
    assert found.power[0] == found.noise[0] == 0


@pytest.mark.parametrize("odd", [0.1, 0.375])
def test_where_one_sample_holds_all_the_noise_the_jackknife_is_the_gaussian(odd):
    found = Signal(np.array([0.5] * 63 + [odd])[None, :, None])
    assert found.jackknife[0, 0] == found.gaussian[0, 0]


def test_flat_returns_have_no_gradient_whatever_was_drawn():
    samples = np.random.default_rng(0).normal(size=(2, 8, 3))
    found = Signal(samples, np.array([True, False]))
    assert found.dead.tolist() == [[True] * 3, [False] * 3]
    assert found.power[0] == found.noise[0] == 0
