from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.diagnostics.esnr.worlds import LinearQuadratic, linear, quadratic, still
from wmel.contract.environment import Box
from wmel.diagnostics.esnr.measure import compute_esnr, esnr
from wmel.diagnostics.states import given_observations
from wmel.errors import BadInput, BadModel
from wmel.models.mlp import MLP, MLPModel
from wmel.objectives import SmoothUpright

METHODS = ["fog", "zog", "cem"]
PLACES = np.random.default_rng(0).normal(size=(5, 4))
FEW = {"samples": 6, "population": 4, "elites": 2}
MLP_SPACE = Box([-1, -2], [1, 2])


def network() -> MLPModel:
    torch.manual_seed(1)
    return MLPModel(MLP(4, 2, (32, 32), "delta").requires_grad_(False))


def of_network(observations, method, **settings):
    how = {"objective": SmoothUpright((1, 2)), "space": MLP_SPACE, "horizon": 5, "samples": 16, "population": 8}
    return esnr(network(), observations, method, **{**how, "elites": 3, **settings})


def of_pair(observations, method, **settings):
    def forward(z, a):
        return torch.tanh(z + 0.5 * torch.cat([a, a.flip(1)], dim=1))

    pair = (forward, lambda z, a: torch.cos(z).sum(1) - (a**2).sum(1))
    how = {"mean": np.full((5, 2), 0.1), "samples": 16, "population": 8, "elites": 3, "temperature": 0.3}
    return esnr(pair, observations, method, **{**how, **settings})


@pytest.mark.parametrize("ask", [of_network, of_pair])
@pytest.mark.parametrize("method", METHODS)
def test_how_many_rows_are_imagined_at_once_changes_nothing(ask, method):
    whole = ask(PLACES, method, rows=5000, **FEW)
    scale = abs(whole.gradients.samples).max()
    for rows in (1, 7, 64):
        part = ask(PLACES, method, rows=rows, **FEW)
        np.testing.assert_allclose(part.gradients.samples, whole.gradients.samples, rtol=1e-5, atol=1e-6 * scale)
        np.testing.assert_allclose(part.per_observation, whole.per_observation, rtol=1e-5, atol=1e-6)
        assert part.esnr.value == pytest.approx(whole.esnr.value, rel=1e-5)
        assert part.model_steps == whole.model_steps
        assert part.gradients.out_of_range == pytest.approx(whole.gradients.out_of_range)
        assert part.gradients.effective_elites == pytest.approx(whole.gradients.effective_elites)


@pytest.mark.parametrize("ask", [of_network, of_pair])
@pytest.mark.parametrize("method", METHODS)
def test_company_changes_no_observation(ask, method):
    seen = given_observations(PLACES)
    together = ask(seen, method)
    for index in ([3], [4, 1]):
        some = replace(seen, percept=seen.percept.rows(index), episodes=seen.episodes[index], steps=seen.steps[index])
        np.testing.assert_allclose(ask(some, method).per_observation, together.per_observation[index], rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_question_has_the_same_answer(method):
    one, other = of_network(PLACES, method), of_network(PLACES, method)
    assert one.esnr == other.esnr and one.pooled == other.pooled
    assert one.seconds > 0


@pytest.mark.parametrize("method", METHODS)
def test_progress_counts_every_observation_once(method):
    reported = []
    of_pair(PLACES, method, rows=20, progress=reported.append)
    assert sum(reported) == len(PLACES)


@pytest.mark.parametrize(("method", "each"), [("fog", 1), ("zog", 1), ("cem", 8)])
def test_what_a_gradient_costs_is_counted(method, each):
    places = np.random.default_rng(0).normal(size=(12, 4))
    found = of_pair(places, method)
    assert found.model_steps == len(places) * 16 * 5 * each
    assert found.gradients.rollouts_each == each
    assert found.esnr_per_rollout.value == pytest.approx(found.esnr.value / each)


def test_by_the_paper_is_its_algorithms_to_the_letter():
    """FoG of mean 2 delta and raw elite means, each with 1e-8 on the variance and no correction, sigma 1."""
    pair, mean = quadratic([0.5, -1.0]), np.full((1, 2), 0.7)
    found = {method: esnr(pair, np.zeros((3, 1)), method, mean=mean, paper=True) for method in METHODS}
    for one in found.values():
        assert one.settings.sigma == 1 and one.correction == "none"
        numbers = one.gradients.samples
        expected = (numbers.mean(axis=1) ** 2 / (numbers.var(axis=1, ddof=1) + 1e-8)).mean(axis=1)
        np.testing.assert_allclose(one.per_observation, expected, rtol=1e-12)
    spread = found["cem"].gradients.samples.std(axis=1).max()
    assert abs(found["cem"].signal.means - [0.5, -1.0]).max() < 1, "elites lie by the optimum, not by zero"
    assert spread < 1


def test_by_the_paper_a_linear_return_has_a_hundred_million_times_its_square():
    found = esnr(linear([2.0, -1.0]), np.zeros((3, 1)), "fog", mean=np.zeros((1, 2)), paper=True)
    assert found.esnr.value == pytest.approx(1e8 * (4 + 1) / 2)


def test_by_the_paper_zog_credits_one_reward_and_takes_nothing_off():
    """The first reward is of the start alone: g_1 = r_1 eps_1, of mean 0 and variance r_1^2."""
    world = LinearQuadratic.sampled(5, action_cost=0.0)
    found = esnr(world.pair(), world.start[None], "zog", mean=np.zeros((4, 2)), paper=True, samples=20_000, rows=10**5)
    reward = world.step_form(0).k
    first = found.signal.variances[0, :2]
    assert first == pytest.approx(np.full(2, reward**2), rel=5 * np.sqrt(2 / 20_000))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ((still,), "pair of functions"),
        ((still, 3), "pair of functions"),
        ((still, still, still), "pair of functions"),
        ([still, still], "model"),
        ("mlp", "model"),
    ],
)
def test_what_is_no_model_is_refused(model, words):
    with pytest.raises(BadInput, match=words):
        esnr(model, PLACES, "zog", mean=np.zeros((1, 1)))


@pytest.mark.parametrize("method", ["FOG", "", None, "fd", ["fog"]])
def test_an_unknown_estimator_is_refused_with_those_there_are(method):
    with pytest.raises(BadInput, match="estimator is called"):
        of_pair(PLACES, method)


@pytest.mark.parametrize(
    ("observations", "words"),
    [
        (np.zeros(4), r"\[B,O\].*\(4,\)"),
        (np.zeros((0, 4)), r"\(0, 4\)"),
        (np.zeros((3, 0)), r"\(3, 0\)"),
        (np.zeros((2, 3, 4)), r"\(2, 3, 4\)"),
        ([[0.0, np.nan]], "finite"),
        ([[np.inf]], "finite"),
        ([["a"]], "numbers"),
        ([[1.0], [1.0, 2.0]], "numbers"),
        (None, "numbers"),
    ],
)
def test_observations_that_are_none_are_refused(observations, words):
    with pytest.raises(BadInput, match=words):
        esnr(linear([1.0]), observations, "zog", mean=np.zeros((1, 1)))


def test_an_unknown_setting_is_refused_with_those_there_are():
    with pytest.raises(BadInput, match=r"no setting 'sample';.* known: plan_horizon.*samples"):
        of_pair(PLACES, "zog", sample=3)


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ((still, lambda z, a: a[:, :1]), r"one number per row.*\(16, 1\)"),
        ((lambda z, a: torch.cat([z, a], dim=1), lambda z, a: a[:, 0]), "shape of its latents"),
    ],
)
@pytest.mark.parametrize("method", METHODS)
def test_functions_of_other_shapes_are_refused(pair, words, method):
    with pytest.raises(BadModel, match=words):
        esnr(pair, [[0.0]], method, mean=np.zeros((1, 1)), samples=16, population=1, elites=1)


def pathwise(J, actions):
    (gradient,) = torch.autograd.grad(J(actions).sum(), actions)
    return gradient


def test_it_is_squared_mean_over_variance_averaged_over_coordinates():
    actions = torch.as_tensor(np.random.default_rng(0).normal(0.5, 1.0, (40, 3)))
    found = compute_esnr(actions, lambda a: -(a**2).sum(1), pathwise)
    numbers = -2 * actions.numpy()
    expected = (numbers.mean(axis=0) ** 2 / (numbers.var(axis=0, ddof=1) + 1e-8)).mean()
    assert float(found) == pytest.approx(expected)
    assert not actions.requires_grad


def test_a_linear_return_leaves_the_epsilon_alone():
    found = compute_esnr(torch.randn(10, 2), lambda a: a @ torch.tensor([1.0, 3.0]), pathwise)
    assert float(found) == pytest.approx(1e8 * 5, rel=1e-5)


def test_without_signal_n_samples_give_about_one_nth():
    """(n-1)/(n-3)/n, averaged over 4,000 coordinates of deviation about sqrt(2)/n."""
    actions = torch.randn(50, 4000, generator=torch.Generator().manual_seed(0))
    found = compute_esnr(actions, lambda a: -(a**2).sum(1), pathwise)
    assert float(found) == pytest.approx(49 / 47 / 50, abs=5 * 1.6 / 50 / np.sqrt(4000))


@pytest.mark.parametrize("actions", [torch.zeros(1, 3), torch.zeros(0, 3), torch.tensor(1.0)])
def test_one_row_has_no_variance(actions):
    with pytest.raises(BadInput, match="at least two rows"):
        compute_esnr(actions, lambda a: a.sum(), pathwise)
