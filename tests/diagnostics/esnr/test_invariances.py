"""What an ESNR does not depend on, and what it does: the table of ESNR.md 1.7, at the same noise."""

import numpy as np
import pytest

from tests.diagnostics.esnr.worlds import quadratic
from wmel.contract.environment import Box
from wmel.diagnostics.esnr.measure import esnr

CENTRE = np.array([0.6, -0.3, 0.9])
ESTIMATORS = {
    "fog": {"method": "fog"},
    "zog": {"method": "zog", "baseline": "none"},
    "zog-loo": {"method": "zog"},
    "cem-soft": {"method": "cem", "temperature": 0.5},
    "cem": {"method": "cem"},
}
SCALED, SHIFTED = {"scale": 100.0}, {"offset": 10.0}


def request(estimator, *, box=1.0, scale=1.0, offset=0.0, **settings):
    """Four observations of J = -scale |a/box - centre|^2 + offset in a box that wide."""
    still, reward = quadratic(CENTRE, scale=scale, offset=offset)
    return esnr(
        (still, lambda z, a: reward(z, a / box)), np.zeros((4, 1)), space=Box([-box] * 3, [box] * 3), horizon=1,
        actions="gaussian", sigma=0.5, samples=200, rows=10**5, **ESTIMATORS[estimator], **settings,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("estimator", "change", "same"),
    [
        *((name, {"scale": scale}, name != "cem-soft") for name in ESTIMATORS for scale in (100.0, 0.01)),
        *((name, {"offset": 10.0}, name != "zog") for name in ESTIMATORS),
        *((name, {"box": 10.0}, True) for name in ESTIMATORS),
    ],
)
def test_what_changes_the_ratio(estimator, change, same):
    """Rounding of float32 alone is left where nothing else changes: about 1e-6 of a reward of 10, so 1e-4 of these."""
    before, after = request(estimator), request(estimator, **change)
    if same:
        np.testing.assert_allclose(after.per_observation, before.per_observation, rtol=2e-4, atol=1e-5)
        assert after.pooled.value == pytest.approx(before.pooled.value, rel=2e-4)
    else:
        assert abs(after.esnr.value / before.esnr.value - 1) > 0.03


def test_a_reward_all_of_one_sign_drowns_the_signal_without_a_baseline():
    assert request("zog", offset=10.0).esnr.value < request("zog").esnr.value / 2


@pytest.mark.parametrize("size", [1e-4, 1e-5])
@pytest.mark.parametrize("estimator", ["fog", "zog", "zog-loo"])
def test_the_papers_epsilon_swallows_small_rewards(estimator, size):
    """mean^2 / (variance + 1e-8) with both scaled by size^2; without it the ratio stays."""
    whole = request(estimator)
    literal, corrected = request(estimator, scale=size, literal=True), request(estimator, scale=size)
    power, noise = size**2 * whole.signal.means**2, size**2 * whole.signal.variances
    expected = (power / (noise + 1e-8)).mean()
    assert literal.esnr.value == pytest.approx(expected, rel=1e-3)
    assert literal.esnr.value < 0.98 * whole.raw
    assert corrected.raw == pytest.approx(whole.raw, rel=1e-3)


@pytest.mark.parametrize("estimator", ["cem", "cem-soft"])
@pytest.mark.parametrize("size", [1e-4, 1e-5])
def test_elite_means_are_actions_and_feel_no_epsilon(estimator, size):
    found = request(estimator, scale=size, literal=True)
    assert found.esnr.value == pytest.approx(found.raw, rel=1e-4)


def test_the_same_sigma_in_other_units_is_another_distribution():
    still, reward = quadratic(CENTRE)
    narrow, wide = (
        esnr((still, reward), np.zeros((1, 1)), space=Box([-box] * 3, [box] * 3), horizon=1, actions="gaussian")
        for box in (1.0, 2.0)
    )
    assert narrow.esnr.value > 2 * wide.esnr.value
