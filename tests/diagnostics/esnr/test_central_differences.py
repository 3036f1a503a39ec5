import numpy as np
import pytest
import torch

from wmel import Oracle, catalog
from wmel.contract.environment import Box
from wmel.diagnostics.esnr.estimators import LARGE, SMALL
from wmel.diagnostics.esnr.measure import esnr, true_gradient
from wmel.diagnostics.states import fresh_observations
from wmel.errors import BadInput
from wmel.models.callable_model import PairModel

PLACES = np.random.default_rng(0).normal(size=(4, 2))


def swing(xp):
    """The same functions in torch and in numpy."""
    turn = [[0.9, -0.3], [0.4, 0.8]]
    matrix = torch.tensor(turn) if xp is torch else np.array(turn)
    return lambda z, a: xp.sin(z @ matrix + 0.5 * a), lambda z, a: xp.cos(z[:, 0]) * a[:, 1] - z[:, 1] ** 2 * a[:, 0]


@pytest.mark.parametrize("settings", [{}, {"discount": 0.7}, {"space": Box([-1, -2], [1, 2]), "actions": "tanh"}])
def test_differences_agree_with_autograd(settings):
    """Truncation is h^2/6 of a third derivative, below 1e-6 of these; float32 of autograd about 1e-6."""
    how = {"mean": np.full((4, 2), 0.2), "samples": 8, **settings}
    exact = esnr(swing(torch), PLACES, "fog", **how)
    model = PairModel(*swing(np), library="numpy")
    stepped, truth = esnr(model, PLACES, "fog(fd)", **how), true_gradient(model, PLACES, **how)
    scale = abs(exact.gradients.samples).max()
    np.testing.assert_allclose(stepped.gradients.samples, exact.gradients.samples, atol=1e-5 * scale)
    assert stepped.esnr.value == pytest.approx(exact.esnr.value, rel=1e-4)
    assert stepped.method == truth.esnr.method == "fog(fd)"
    np.testing.assert_allclose(truth.coarse_means, truth.esnr.signal.means, atol=1e-3 * scale)
    assert truth.resolved.all()


def test_the_true_gradient_has_noise_of_its_own_and_the_same_distribution():
    """Of 400 samples a correlation of independent noise has an error of .05; means agree within 5 errors."""
    model, how = PairModel(*swing(np), library="numpy"), {"mean": np.full((2, 2), 0.2), "samples": 400}
    named, truth = (one.gradients.samples for one in (esnr(model, PLACES, "fog(fd)", **how),
                                                      true_gradient(model, PLACES, **how).esnr))  # fmt: skip
    for place in range(len(PLACES)):
        one, other = named[place] - named[place].mean(0), truth[place] - truth[place].mean(0)
        spread = np.sqrt((one**2).mean(0) + (other**2).mean(0))
        assert (abs(named[place].mean(0) - truth[place].mean(0)) <= 5 * spread / 20 + 1e-9).all()
        known = spread > 1e-9
        shared = (one * other).mean(0)[known] / (spread[known] ** 2 / 2)
        assert (abs(shared) < 0.25).all()


@pytest.mark.parametrize("rows", [1, 7, 64, 5000])
def test_how_many_rows_at_once_changes_nothing(rows):
    model, how = PairModel(*swing(np), library="numpy"), {"mean": np.zeros((3, 2)), "samples": 5}
    part, whole = (true_gradient(model, PLACES, rows=count, **how) for count in (rows, 100_000))
    np.testing.assert_allclose(part.esnr.gradients.samples, whole.esnr.gradients.samples, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(part.coarse_means, whole.coarse_means, rtol=1e-9, atol=1e-12)
    assert part.esnr.model_steps == whole.esnr.model_steps


def test_a_step_that_reaches_over_a_jump_is_not_resolved():
    """J jumps by 5 between the two step sizes from a_1 = 0: only the large one sees it."""
    jump = (SMALL + LARGE) / 2
    model = PairModel(lambda z, a: z, lambda z, a: np.where(a[:, 0] > jump, 5.0, 0.0) + 0.1 * a[:, 1], library="numpy")
    found = true_gradient(model, [[0.0]], mean=np.zeros((1, 2)), sigma=1e-3 * SMALL, samples=4)
    assert found.esnr.signal.means[0] == pytest.approx([0.0, 0.1], abs=1e-9)
    assert found.coarse_means[0] == pytest.approx([5 / (2 * LARGE), 0.1])
    assert not found.resolved.any()


def test_a_model_in_float32_is_too_coarse_for_differences():
    model = PairModel(lambda z, a: z + torch.tanh(a), lambda z, a: -(z**2).sum(1))
    with pytest.raises(BadInput, match="float32"):
        esnr(model, PLACES, "fog(fd)", mean=np.zeros((3, 2)), samples=4)


@pytest.fixture(scope="module")
def cartpole():
    world = catalog.environment("dmc:cartpole-swingup")
    seen = fresh_observations(world, catalog.policy("random", world), 6, episodes=3, episode_steps=60)
    return world, seen


@pytest.mark.parametrize("discount", [1.0, 0.8])
def test_the_oracles_gradient_is_that_of_stepping_the_environment(cartpole, discount):
    """A narrow draw stands for its mean; the coordinate is moved here by hand, by another step size."""
    world, seen = cartpole
    horizon, moved = 6, 2
    plan = np.linspace(-0.5, 0.6, horizon)
    found = true_gradient(
        Oracle(world), seen, objective=catalog.objective("smooth-upright", world), space=world.spec.actions,
        mean=plan[:, None], sigma=1e-6, samples=4, discount=discount,
    )  # fmt: skip

    def whole(change):
        states, total = seen.percept.state, np.zeros(len(seen))
        for step in range(horizon):
            action = plan[step] + (change if step == moved else 0)
            states = world.step(states, np.full((len(seen), 1), action))
            total += discount**step * (world.observe(states)[:, 1] - 1) / 2  # minus the missing share, by cos_pole
        return total

    slopes = (whole(2e-3) - whole(-2e-3)) / 4e-3
    assert world.spec.observation[1] == "cos_pole" and abs(slopes).max() > 1e-4
    means = found.esnr.signal.means[:, moved]
    np.testing.assert_allclose(means, slopes, rtol=1e-3, atol=1e-3 * abs(slopes).max())


@pytest.mark.parametrize("method", ["fog", "zog", "cem"])
def test_the_oracle_has_a_ratio_by_every_estimator(cartpole, method):
    world, seen = cartpole
    found = esnr(
        Oracle(world), seen, method, objective=catalog.objective("smooth-upright", world), space=world.spec.actions,
        horizon=5, samples=8, population=8, elites=2,
    )  # fmt: skip
    assert found.esnr.is_defined and found.esnr.n == 3 and found.broken_share == 0
    assert found.method == ("fog(fd)" if method == "fog" else method)
    assert found.signal.means.shape == (6, 5)


def test_without_an_objective_the_oracle_counts_the_tasks_reward(cartpole):
    world, seen = cartpole
    found = true_gradient(Oracle(world), seen, space=world.spec.actions, horizon=4, sigma=1e-6, samples=4)

    def reward(change):
        states, total = seen.percept.state, np.zeros(len(seen))
        for step in range(4):
            action = np.full((len(seen), 1), change if step == 1 else 0.0)
            after = world.step(states, action)
            total += world.quantities(states, action, after)["reward"]
            states = after
        return total

    slopes = (reward(1e-3) - reward(-1e-3)) / 2e-3
    np.testing.assert_allclose(found.esnr.signal.means[:, 1], slopes, rtol=1e-3, atol=1e-3 * abs(slopes).max())
