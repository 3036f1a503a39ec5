from itertools import product

import numpy as np
import pytest
import torch

from tests.diagnostics.esnr.worlds import NOWHERE, assert_moments, linear, still
from wmel.contract.environment import Box, Finite
from wmel.diagnostics.esnr.measure import esnr
from wmel.diagnostics.esnr.sampling import EsnrSettings
from wmel.errors import BadInput

THREE = Finite(("left", "stay", "right"))
MOVES, START, STEPS = (-0.7, 0.1, 0.9), 0.4, 2
CHOICES = np.array(list(product(range(3), repeat=STEPS)))  # every sequence, all as likely
ONE_HOT = np.eye(3)[CHOICES]  # [9,2,3]


def walk():
    """z' = z + move, paid z^2 + a sin z before the step, which no two sequences share."""
    moves = torch.tensor(MOVES)

    def forward(z, a):
        return z + moves[a.long()]

    return forward, lambda z, a: z[:, 0] ** 2 + a[:, 0] * torch.sin(z[:, 0]) + 0.05 * a[:, 0]


def walked(discount: float) -> np.ndarray:
    """The discounted rewards of every sequence [9,2]"""
    places = np.stack([np.full(9, START), START + np.array(MOVES)[CHOICES[:, 0]]], axis=1)
    return discount ** np.arange(2) * (places**2 + CHOICES * np.sin(places) + 0.05 * CHOICES)


def sample(space=None, *, method="zog", **settings) -> np.ndarray:
    """The actions [S,H,A] a model was given at its one observation."""
    met = []

    def reward(z, a):
        met.append(a.numpy().copy())
        return a[:, 0]

    found = esnr((still, reward), NOWHERE, method, space=space, rows=10**6, **settings)
    return met[0].reshape(-1, found.settings.horizon, met[0].shape[1])


@pytest.mark.parametrize("baseline", ["none", "leave_one_out"])
@pytest.mark.parametrize("credit", ["full_return", "reward_to_go", "paper"])
def test_gradients_of_logits_are_those_of_every_sequence(credit, baseline):
    rewards = walked(0.8)
    credited = {
        "full_return": np.repeat(rewards.sum(axis=1, keepdims=True), 2, axis=1),
        "reward_to_go": np.stack([rewards.sum(axis=1), rewards[:, 1]], axis=1),
        "paper": rewards,
    }[credit]
    level = credited.mean(axis=0) if baseline == "leave_one_out" else 0
    exact = ((credited - level)[..., None] * (ONE_HOT - 1 / 3)).reshape(9, 6)
    found = esnr(
        walk(), [[START]], "zog", space=THREE, horizon=2, discount=0.8, credit=credit, baseline=baseline,
        samples=100_000, rows=10**6,
    )  # fmt: skip
    assert_moments(found.gradients.samples[0], exact.mean(axis=0), exact.var(axis=0))


@pytest.mark.parametrize("raw", [False, True])
def test_of_two_sequences_of_choices_the_better_is_the_elite(raw):
    returns = walked(1.0).sum(axis=1)
    assert len(np.unique(returns)) == 9
    better = np.where(returns[:, None] >= returns, np.arange(9)[:, None], np.arange(9)).reshape(-1)
    exact = ONE_HOT.reshape(9, 6)[better] - (0 if raw else 1 / 3)
    found = esnr(
        walk(), [[START]], "cem", space=THREE, horizon=2, population=2, elites=1, raw_elite_mean=raw, samples=50_000,
        rows=10**6,
    )  # fmt: skip
    assert_moments(found.gradients.samples[0], exact.mean(axis=0), exact.var(axis=0))


def test_where_all_choices_are_elite_nothing_moves():
    found = esnr(walk(), [[START]], "cem", space=THREE, horizon=2, population=6, elites=6, samples=20_000, rows=10**6)
    assert_moments(found.gradients.samples[0], 0, 2 / 9 / 6)


def test_choices_travel_as_their_index_and_act_as_their_value():
    indices = sample(THREE, horizon=2, samples=3000)
    assert np.issubdtype(indices.dtype, np.integer) and indices.shape == (3000, 2, 1)
    assert np.bincount(indices.reshape(-1)) / 6000 == pytest.approx(np.full(3, 1 / 3), abs=5 * np.sqrt(2 / 9 / 6000))
    values = sample(Finite(("a", "b"), np.array([[0.5, 1.0], [2.0, 3.0]])), horizon=1, samples=50)
    assert {tuple(row) for row in values[:, 0].tolist()} == {(0.5, 1.0), (2.0, 3.0)}


@pytest.mark.parametrize("width", [1, 2, 3])
def test_noise_is_independent_standard_normal(width):
    """Means, variances and correlations of 50,000 draws within 5 errors."""
    actions = sample(mean=np.zeros((3, width)), sigma=1.0, samples=50_000).reshape(50_000, -1)
    assert_moments(actions, 0, 1)
    correlations = np.corrcoef(actions, rowvar=False) - np.eye(3 * width)
    assert abs(correlations).max() < 5 / np.sqrt(50_000)
    assert (actions**4).mean() == pytest.approx(3, abs=5 * np.sqrt(96 / actions.size))


def test_sigma_and_mean_are_in_halves_of_the_range():
    actions = sample(Box([-3, 0], [5, 0.1]), mean=[[0.5, -1.0]], sigma=0.25, actions="gaussian", samples=50_000)[:, 0]
    assert_moments(actions, [1 + 4 * 0.5, 0.05 - 0.05], [1.0, (0.05 * 0.25) ** 2])


def test_without_a_mean_draws_are_around_the_middle_and_clamped():
    actions = sample(Box([1], [3]), horizon=2, sigma=2.0, samples=20_000)
    assert actions.min() == 1 and actions.max() == 3
    assert actions.mean() == pytest.approx(2, abs=5 / np.sqrt(40_000))


def test_more_samples_begin_with_the_same_ones():
    few, many = (sample(mean=np.zeros((3, 1)), samples=count) for count in (8, 16))
    np.testing.assert_array_equal(many[:8], few)


def test_another_seed_is_other_noise():
    one, same, other = (sample(mean=np.zeros((2, 2)), samples=500, noise_seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert abs(np.corrcoef(one.reshape(-1), other.reshape(-1))[0, 1]) < 5 / np.sqrt(2000)


def test_every_observation_may_have_a_mean_of_its_own():
    means = np.array([[[0.0]], [[1.0]], [[-2.0]]])
    pair = (still, lambda z, a: -(a[:, 0] ** 2))
    found = esnr(pair, np.zeros((3, 1)), "fog", mean=means, sigma=0.1, samples=64, rows=50)
    assert found.signal.means[:, 0] == pytest.approx([0, -2, 4], abs=5 * 0.2 / 8)


def test_observations_do_not_share_noise():
    found = esnr((still, lambda z, a: -(a[:, 0] ** 2)), np.zeros((2, 1)), "fog", mean=np.zeros((1, 1)), samples=1000)
    assert abs(np.corrcoef(found.gradients.samples[..., 0])[0, 1]) < 5 / np.sqrt(1000)


@pytest.mark.parametrize(
    ("mean", "settings", "words"),
    [
        (np.zeros((2, 3)), {"space": Box([-1, -1], [1, 1])}, r"\[2, 2\].*2, 3"),
        (np.zeros((2, 1)), {"horizon": 3}, r"\[3, 1\].*2, 1"),
        (np.zeros((5, 2, 1)), {}, "one for each of 1 observations.*5, 2, 1"),
        (np.zeros(3), {}, "mean of the actions"),
        (np.zeros((1, 1, 1, 1)), {}, "mean of the actions"),
        ([[np.nan]], {}, "finite"),
        (None, {}, "actions must be given"),
        (0.0, {}, "mean"),
        ("middle", {}, "mean"),
        ([[0.0], [0.0, 1.0]], {}, "mean"),
        (np.zeros((1, 0)), {}, "mean"),
        (np.zeros((0, 1)), {}, "mean"),
    ],
)
def test_a_mean_that_fits_nothing_is_refused(mean, settings, words):
    with pytest.raises(BadInput, match=words):
        esnr(linear([1.0]), NOWHERE, "zog", mean=mean, **settings)


def test_choices_have_no_mean():
    with pytest.raises(BadInput, match="these are finite"):
        esnr(walk(), [[START]], "zog", space=THREE, mean=np.zeros((2, 1)))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"samples": 3}, "at least 4 gradients.*got 3"),
        ({"samples": 0}, "samples must.*1.*0"),
        ({"samples": 8.0}, "samples must be.*8.0"),
        ({"samples": True}, "samples must be a"),
        ({"samples": 2_000_000}, "samples must.*1.*2000000"),
        ({"plan_horizon": 0}, "plan_horizon must be .* got 0"),
        ({"rows": -1}, "rows must be .* got -1"),
        ({"population": 4, "elites": 5}, "of 4 sequences.*got 5"),
        ({"elites": 0}, "elites must be .* got 0"),
        ({"sigma": 0}, "sigma must.*0.*0"),
        ({"sigma": -1.0}, "got -1.0"),
        ({"sigma": float("nan")}, "got nan"),
        ({"sigma": float("inf")}, "got inf"),
        ({"discount": 0}, "discount.*got 0"),
        ({"discount": 1.01}, "discount.*got 1.01"),
        ({"temperature": -0.1}, "temperature.*got -0.1"),
        ({"temperature": float("nan")}, "temperature.*got nan"),
        ({"noise_seed": -1}, "noise_seed.*got -1"),
        ({"credit": "rtg"}, "credit must.*'reward_to_go'.*'rtg'"),
        ({"baseline": "loo"}, "baseline must.*'leave_one_out'.*'loo'"),
        ({"actions": "clip"}, "actions must.*'clamped'.*'clip'"),
        ({"credit": "paper", "baseline": "value"}, "no value function predicts"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_its_value(settings, words):
    with pytest.raises(BadInput, match=words):
        EsnrSettings(**settings)


@pytest.mark.parametrize("name", ["sigma", "discount", "temperature"])
@pytest.mark.parametrize("value", ["x", None])
def test_a_setting_that_is_no_number_is_refused_with_its_value(name, value):
    with pytest.raises(BadInput, match=name):
        EsnrSettings(**{name: value})


def test_the_smallest_that_can_be():
    EsnrSettings(samples=4, plan_horizon=1, population=1, elites=1, rows=1)


def test_only_what_a_method_heeds_is_described():
    settings = EsnrSettings()
    assert not {"credit", "elites", "rows"} & set(settings.used_by("fog"))
    assert {"credit", "baseline"} <= set(settings.used_by("zog")) and "elites" not in settings.used_by("zog")
    assert {"elites", "temperature"} <= set(settings.used_by("cem")) and "credit" not in settings.used_by("cem")


def test_the_papers_settings_override_what_was_chosen():
    chosen = EsnrSettings(actions="tanh", baseline="none", samples=8).as_in_the_paper()
    assert (chosen.actions, chosen.credit, chosen.baseline, chosen.samples) == ("gaussian", "paper", "none", 8)
    assert chosen.raw_elite_mean and chosen.literal


def test_the_old_name_of_the_plan_horizon_is_accepted_with_a_warning():
    with pytest.warns(DeprecationWarning, match="'horizon' is now 'plan_horizon'"):
        assert EsnrSettings(horizon=7) == EsnrSettings(plan_horizon=7)
