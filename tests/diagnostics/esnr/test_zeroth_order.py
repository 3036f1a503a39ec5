import numpy as np
import pytest
import torch

from tests.diagnostics.esnr.worlds import (
    NOWHERE,
    LinearQuadratic,
    assert_moments,
    linear,
    quadratic,
    ratio_error,
    score_moments,
    still,
)
from wmel.diagnostics.esnr.measure import esnr
from wmel.models.callable_model import PairModel

SAMPLES = 150_000
MANY = {"samples": SAMPLES, "rows": SAMPLES}
MEAN, CENTRE, SIGMA = np.array([0.1, 0.2, 0.3]), np.array([0.5, -0.2, 0.3]), 0.4
APART = MEAN - CENTRE
FAR, WIDE = APART @ APART, SIGMA**2


def with_value(pair, value: float) -> PairModel:
    return PairModel(*pair, value=lambda latents: torch.full((len(latents),), value))


@pytest.mark.parametrize(
    ("baseline", "variance"),
    [
        ("none", (FAR + 5 * WIDE) ** 2 / WIDE + 4 * FAR + 4 * APART**2 + 10 * WIDE),
        ("value", 4 * FAR + 4 * APART**2 + 14 * WIDE),
        ("leave_one_out", 4 * FAR + 4 * APART**2 + 14 * WIDE),
    ],
)
def test_of_a_quadratic_the_baseline_changes_the_noise_and_not_the_signal(baseline, variance):
    model = with_value(quadratic(CENTRE), -(FAR + 3 * WIDE))
    found = esnr(model, NOWHERE, "zog", mean=MEAN[None], sigma=SIGMA, baseline=baseline, **MANY)
    assert_moments(found.gradients.samples[0], -2 * APART, variance)
    error = ratio_error(found.gradients.samples[0])
    assert (abs(found.signal.jackknife[0] - 4 * APART**2 / variance) < 5 * error + 5 / SAMPLES).all()


def test_the_best_constant_is_below_the_expected_return():
    model = with_value(quadratic(CENTRE), -(FAR + 5 * WIDE))
    found = esnr(model, NOWHERE, "zog", mean=MEAN[None], sigma=SIGMA, baseline="value", **MANY)
    assert_moments(found.gradients.samples[0], -2 * APART, 4 * FAR + 4 * APART**2 + 10 * WIDE)


@pytest.mark.parametrize("samples", [4, 16])
def test_few_others_make_a_noisy_baseline(samples):
    """Var(J) / ((S-1) sigma^2) is added; two gradients share E[g]^2 / (S-1)^2, which their variance does not show."""
    found = esnr(
        quadratic(CENTRE), np.zeros((20_000, 1)), "zog", mean=MEAN[None], sigma=SIGMA, samples=samples, rows=500_000
    )
    added = (6 * WIDE**2 + 4 * WIDE * FAR) / ((samples - 1) * WIDE)
    variance = 4 * FAR + 4 * APART**2 + 14 * WIDE + added - 4 * APART**2 / (samples - 1) ** 2
    for each, expected in ((found.signal.means, -2 * APART), (found.signal.variances, variance)):
        assert (abs(each.mean(axis=0) - expected) < 5 * each.std(axis=0) / np.sqrt(len(each))).all()


@pytest.mark.parametrize(("baseline", "level"), [("none", 1.1), ("leave_one_out", 0.0), ("value", 0.5)])
def test_of_a_linear_return(baseline, level):
    slopes, mean = np.array([1.0, -0.5]), np.array([0.4, 0.6])  # J(mean) = 1.1 with the offset
    model = with_value(linear(slopes, 1.0), 0.6)
    found = esnr(model, NOWHERE, "zog", mean=mean[None], sigma=0.3, baseline=baseline, **MANY)
    noise = level**2 / 0.09 + slopes @ slopes + slopes**2
    assert_moments(found.gradients.samples[0], slopes, noise)


@pytest.mark.parametrize("slope", [1e-3, 1.0, 1e3])
def test_one_linear_action_has_half_as_much_signal_as_noise(slope):
    found = esnr(linear([slope]), NOWHERE, "zog", mean=np.full((1, 1), 0.7), sigma=0.2, **MANY)
    assert found.esnr.value == pytest.approx(0.5, abs=5 * ratio_error(found.gradients.samples[0])[0])


def test_as_the_draw_narrows_only_a_baseline_keeps_the_signal():
    """FoG grows without bound, ZoG falls to 0, and with a baseline it stays at delta_i^2 / (T + delta_i^2)."""
    options = {"mean": MEAN[None], "sigma": 1e-3, "samples": 100_000, "rows": 100_000}
    first = esnr(quadratic(CENTRE), NOWHERE, "fog", **options)
    plain = esnr(quadratic(CENTRE), NOWHERE, "zog", baseline="none", **options)
    based = esnr(quadratic(CENTRE), NOWHERE, "zog", **options)
    assert first.esnr.value > 1e4 and abs(plain.esnr.value) < 1e-4
    limits = APART**2 / (FAR + APART**2)
    assert (abs(based.signal.jackknife[0] - limits) < 5 * ratio_error(based.gradients.samples[0]) + 1e-3).all()


@pytest.mark.parametrize("discount", [1.0, 0.8])
@pytest.mark.parametrize("credit", ["full_return", "reward_to_go", "paper"])
@pytest.mark.parametrize("baseline", ["none", "leave_one_out"])
def test_through_linear_dynamics_each_action_answers_for_what_it_is_credited_with(credit, baseline, discount):
    world, mean = LinearQuadratic.sampled(1), np.linspace(-0.5, 0.4, 8)
    found = esnr(
        world.pair(), world.start[None], "zog", mean=mean.reshape(4, 2), sigma=0.4, credit=credit, baseline=baseline,
        discount=discount, **MANY,
    )  # fmt: skip
    forms = world.credited(credit, discount)
    levels = [0.0 if baseline == "none" else form.expected(mean, 0.4) for form in forms]
    assert_moments(found.gradients.samples[0], *score_moments(forms, mean, 0.4, levels))


@pytest.mark.parametrize(("credit", "powers"), [("full_return", [0, 0, 0, 0]), ("reward_to_go", [0, 1, 2, 3])])
def test_a_value_is_discounted_to_the_start_like_the_rewards_it_stands_for(credit, powers):
    world, mean = LinearQuadratic.sampled(2), np.linspace(-0.5, 0.4, 8)
    found = esnr(
        with_value(world.pair(), -3.0), world.start[None], "zog", mean=mean.reshape(4, 2), sigma=0.4, credit=credit,
        baseline="value", discount=0.6, **MANY,
    )  # fmt: skip
    levels = [-3.0 * 0.6**power for power in powers]
    expected = score_moments(world.credited(credit, 0.6), mean, 0.4, levels)
    assert_moments(found.gradients.samples[0], *expected)


def test_the_value_is_of_the_state_an_action_met():
    """z' = z + a pays the way covered, so that a_1 - v(z_2) of the second step depends on where it begins."""
    model = PairModel(lambda z, a: z + a, lambda z, a: a[:, 0], value=lambda z: z[:, 0])
    start, sigma = 0.5, 0.7
    found = esnr(
        model, [[start]], "zog", mean=np.zeros((2, 1)), sigma=sigma, baseline="value", **MANY
    )  # fmt: skip
    # first: (s(e1+e2) - z) e1/s; second: (s e2 - z - s e1) e2/s
    variance = np.array([start**2 / sigma**2 + 3, start**2 / sigma**2 + 3])
    assert_moments(found.gradients.samples[0], np.array([1.0, 1.0]), variance)


@pytest.mark.parametrize("baseline", ["none", "leave_one_out"])
def test_by_the_papers_credit_a_reward_of_the_state_gives_no_signal_at_all(baseline):
    world = LinearQuadratic.sampled(3, action_cost=0.0)
    found = esnr(
        world.pair(), np.repeat(world.start[None], 2000, axis=0), "zog", mean=np.zeros((4, 2)), sigma=0.4,
        credit="paper", baseline=baseline, samples=32, rows=10**6,
    )  # fmt: skip
    means = found.signal.means
    assert (abs(means.mean(axis=0)) <= 5 * means.std(axis=0) / np.sqrt(2000)).all()
    assert found.pooled.low < 0 < found.pooled.high
    assert found.raw == pytest.approx(31 / 29 / 32, rel=0.15)  # the floor of normal gradients, which these are not


def test_with_a_signal_the_gradient_leads_uphill():
    pair = (still, lambda z, a: torch.tanh(a[:, 0]))
    found = esnr(pair, NOWHERE, "zog", mean=np.zeros((1, 1)), samples=10_000)
    assert found.signal.means[0, 0] > 0
