"""Models that break, jump, forget or change what they are given."""

import numpy as np
import pytest
import torch

from wmel import catalog
from wmel.contract.environment import Finite
from wmel.diagnostics.esnr.measure import esnr, true_gradient
from wmel.diagnostics.esnr.result import alignment
from wmel.diagnostics.states import fresh_observations
from wmel.errors import BadInput, BadModel
from wmel.models.callable_model import PairModel
from wmel.models.mlp import MLP, LatentMLP, LatentMLPModel, MLPModel
from wmel.models.oracle import Oracle

ONE = {"mean": np.zeros((1, 1)), "samples": 32, "population": 8, "elites": 2}


def still(z, a):
    return z


def broken_once(z, a):
    """NaN for the largest action of all rows."""
    return torch.where(a[:, 0] >= a[:, 0].max(), torch.nan, -(a[:, 0] ** 2) + a[:, 0])


def test_one_broken_return_is_one_broken_gradient_whatever_the_baseline():
    seen = np.zeros((64, 1))
    for baseline in ("none", "leave_one_out"):
        found = esnr((still, broken_once), seen, "zog", baseline=baseline, rows=10**6, **ONE)
        assert found.broken_share == 1 / (64 * 32)
        assert found.esnr.is_defined


def test_a_population_with_a_broken_return_is_broken():
    def half(z, a):
        return torch.where(a[:, 0] > 0, torch.nan, a[:, 0])

    found = {method: esnr((still, half), np.zeros((16, 1)), method, **ONE) for method in ("fog", "zog", "cem")}
    assert found["cem"].broken_share > 0.9
    assert all("NaN" in one.esnr.reason for one in found.values())


def test_a_return_that_jumps_is_not_flat_and_its_slope_is_said_to_be_zero():
    jump = PairModel(still, lambda z, a: (a[:, 0] > 0.2) * 1.0, library="numpy")
    seen, few = np.zeros((5, 1)), {**ONE, "samples": 8, "noise_seed": 1}  # none of these draws lies at the jump
    truth = true_gradient(jump, seen, **few)
    assert truth.esnr.flat_share == 0
    assert "every gradient is zero" in truth.esnr.esnr.reason
    scored = esnr(jump, seen, "zog", **few)
    assert scored.signal.means.min() > 0
    assert "slope is zero" in alignment(scored, truth).cosine.reason


def test_where_a_return_is_flat_an_elite_mean_points_nowhere():
    """Half of the states have a constant return; the draw of elites there is a tie and its mean is noise."""
    seen = np.repeat([[0.0], [1.0]], 8, axis=0)
    model = PairModel(still, lambda z, a: z[:, 0] * a[:, 0], library="numpy")
    steep = PairModel(still, lambda z, a: a[:, 0], library="numpy")
    found = alignment(esnr(model, seen, "cem", **ONE), true_gradient(steep, seen, **ONE))
    assert found.cosines[:8].tolist() == [0.0] * 8
    assert found.cosines[8:] == pytest.approx(np.ones(8))
    assert found.against_share == 0


def test_float64_returns_are_told_apart_by_float64():
    model = PairModel(still, lambda z, a: z[:, 0] + 1e4 - 1e-4 * (a[:, 0] ** 2 - a[:, 0]), library="numpy")
    assert esnr(model, np.zeros((8, 1)), "zog", **ONE).flat_share == 0


def test_a_function_may_change_what_it_is_given():
    def shift(z, a):
        return z + a

    def shift_in_place(z, a):
        return z.add_(a)

    def reward(z, a):
        return -(z[:, 0] ** 2)

    seen, how = np.ones((4, 1)), {"mean": np.zeros((5, 1)), "samples": 8}
    for method in ("zog", "fog"):
        kept, changed = (esnr((function, reward), seen, method, **how) for function in (shift, shift_in_place))
        np.testing.assert_array_equal(changed.per_observation, kept.per_observation)


def test_a_function_that_leaves_torch_is_sent_to_the_other_estimators():
    def through_numpy(z, a):
        return torch.as_tensor(np.tanh(z.numpy() + a.numpy()))

    pair = (through_numpy, lambda z, a: -(z**2).sum(-1))
    with pytest.raises(BadInput, match="use zog or cem"):
        esnr(pair, np.zeros((4, 1)), "fog", mean=np.zeros((2, 1)))
    assert esnr(pair, np.ones((4, 1)), "zog", mean=np.zeros((2, 1))).esnr.is_defined


@pytest.mark.parametrize("width", [1, 3, 7])
@pytest.mark.parametrize("kind", ["mlp", "latent"])
def test_observations_of_another_width_are_refused(kind, width):
    model = MLPModel(MLP(5, 1)) if kind == "mlp" else LatentMLPModel(LatentMLP(5, 1))
    world = catalog.environment("dmc:cartpole-swingup")
    how = {"objective": catalog.objective("smooth-upright", world), "space": world.spec.actions}
    with pytest.raises(BadInput, match=rf"observes 5 numbers.*\(4, {width}\)"):
        esnr(model, np.zeros((4, width)), "zog", **how)


def test_actions_of_another_width_are_refused():
    world = catalog.environment("dmc:cartpole-swingup")
    score = catalog.objective("smooth-upright", world)
    with pytest.raises(BadModel, match="cannot imagine"):
        esnr(MLPModel(MLP(5, 1)), np.zeros((4, 5)), "zog", objective=score, mean=np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"objective": "smooth-upright"}, "not the name"),
        ({"space": "box"}, "a space is"),
        ({"horizon": 10**6, "samples": 10**4}, "lower one of them"),
    ],
)
def test_what_is_no_setting_is_one_error(wrong, words):
    with pytest.raises(BadInput, match=words):
        esnr((still, broken_once), np.zeros((4, 1)), "zog", **{"mean": None, **wrong})


def test_a_function_that_returns_nothing_is_one_error():
    with pytest.raises(BadModel, match="cannot imagine"):
        esnr((lambda z, a: None, lambda z, a: a[:, 0]), np.zeros((4, 1)), "zog", **ONE)


def test_levels_whose_elites_always_agree_have_a_pooled_ratio_only():
    """The best of three levels is in every elite: its ratio is unknown, not infinite."""
    space = Finite(("low", "middle", "high"), np.array([[-1.0], [0.0], [1.0]]))
    found = esnr(
        (still, lambda z, a: a[:, 0]), np.zeros((8, 1)), "cem", space=space, horizon=2, population=64, elites=4
    )
    assert found.infinite_share > 0
    assert "use the pooled ratio" in found.esnr.reason


@pytest.mark.slow
@pytest.mark.parametrize("method", ["zog", "cem"])
def test_levels_of_a_real_task_read_alike_with_more_samples(method):
    """Pooled ratios of 32 and 256 gradients a state: within 5 standard errors, by the width of their intervals."""
    world = catalog.environment("dmc_cartpole")
    seen = fresh_observations(world, catalog.policy("random", world), 48, episode_steps=100)
    how = {"objective": catalog.objective("smooth-upright", world), "space": world.spec.actions, "horizon": 5}
    few, many = (
        esnr(Oracle(world), seen, method, samples=samples, population=16, elites=4, **how).pooled
        for samples in (32, 256)
    )
    error = np.hypot(few.high - few.low, many.high - many.low) / (2 * 1.96)
    assert abs(few.value - many.value) < 5 * error
