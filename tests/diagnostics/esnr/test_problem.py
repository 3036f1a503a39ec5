import numpy as np
import pytest
import torch

from tests.diagnostics.esnr.worlds import NOWHERE, assert_moments, linear, still
from wmel import catalog
from wmel.contract.environment import Box
from wmel.diagnostics.esnr.measure import esnr
from wmel.diagnostics.esnr.problem import split_observations
from wmel.errors import BadInput
from wmel.models.callable_model import PairModel
from wmel.models.mlp import MLP, MLPModel
from wmel.models.oracle import Oracle
from wmel.objectives import SmoothUpright

SAMPLES = 100_000
MANY = {"samples": SAMPLES, "rows": SAMPLES}


def moved(z, a):
    return z + a


def nothing(z, a):
    return 0 * a[:, 0]


def test_the_terminal_value_is_of_the_last_latent_and_discounted_by_the_whole_horizon():
    """z_3 = z_1 + a_1 + a_2 with value -z^2 and rate .5: J = -(z_1 + a_1 + a_2)^2 / 4."""
    model = PairModel(moved, nothing, value=lambda z: -(z[:, 0] ** 2))
    found = esnr(
        model, [[0.6]], "fog", mean=np.full((2, 1), 0.1), sigma=0.3, discount=0.5, terminal_value=True, **MANY
    )  # fmt: skip
    assert_moments(found.gradients.samples[0], np.full(2, -2 * 0.8 / 4), 4 * 2 * 0.09 / 16)


@pytest.mark.parametrize("method", ["fog", "zog", "cem"])
def test_without_being_asked_for_no_value_counts(method):
    def value(z):
        raise AssertionError("nobody asked")

    model = PairModel(moved, lambda z, a: -(a[:, 0] ** 2), value=value)
    assert esnr(model, NOWHERE, method, mean=np.ones((2, 1))).esnr.is_defined


def test_an_objective_counts_in_place_of_the_models_own_reward():
    class Last:
        """Cost: the first component seen after each step."""

        name, reduction = "last", None

        def costs(self, observations, actions, goals):
            return observations[:, 1:, 0] ** 2

    model = PairModel(moved, lambda z, a: 1000 * a[:, 0])
    found = esnr(model, [[0.5]], "fog", objective=Last(), mean=np.zeros((2, 1)), sigma=0.2, **MANY)
    # J = -(z+a1)^2 - (z+a1+a2)^2
    assert_moments(found.gradients.samples[0], [-2 * (0.5 + 0.5), -2 * 0.5], [4 * 5 * 0.04, 4 * 2 * 0.04])


def test_a_model_without_a_reward_needs_an_objective():
    model = MLPModel(MLP(2, 1).requires_grad_(False), name="mine")
    with pytest.raises(BadInput, match="own: name an objective"):
        esnr(model, np.zeros((2, 2)), "fog", space=Box([-1], [1]))


@pytest.mark.parametrize("settings", [{"baseline": "value"}, {"terminal_value": True}])
@pytest.mark.parametrize("model", [linear([1.0]), PairModel(*linear([1.0]), name="mine")])
def test_a_value_of_a_model_without_one_is_refused(model, settings):
    with pytest.raises(BadInput, match="value function"):
        esnr(model, NOWHERE, "zog", mean=np.zeros((1, 1)), **settings)


@pytest.mark.parametrize("method", ["fog", "cem"])
def test_a_baseline_that_a_method_does_not_heed_asks_nothing_of_the_model(method):
    model = MLPModel(MLP(2, 1).requires_grad_(False))
    how = {"objective": SmoothUpright((0,)), "space": Box([-1], [1]), "horizon": 2, "population": 8, "elites": 2}
    found = esnr(model, np.zeros((2, 2)), method, baseline="value", **how)
    assert found.esnr == esnr(model, np.zeros((2, 2)), method, **how).esnr


def test_an_encoding_that_is_not_finite_is_refused():
    with pytest.raises(BadInput, match="NaN or infinity"):
        esnr(linear([1.0]), [[1e300]], "zog", mean=np.zeros((1, 1)))


def test_the_oracle_asks_for_states():
    world = catalog.environment("dmc:cartpole-swingup")
    with pytest.raises(BadInput, match="true state"):
        esnr(Oracle(world), np.zeros((2, 5)), "zog", space=world.spec.actions)


@pytest.mark.parametrize("method", ["fog", "zog", "cem"])
def test_a_nan_in_the_dynamics_breaks_only_the_rows_that_meet_it(method):
    """By fog too, though the gradient of NaN + a^2 is finite."""
    pair = (lambda z, a: torch.where(z > 0.5, torch.nan, z), lambda z, a: z[:, 0] + a[:, 0] ** 2)
    found = esnr(pair, [[0.0], [1.0]], method, mean=np.ones((2, 1)))
    assert found.broken_share == 0.5
    assert np.isfinite(found.per_observation[0]) and np.isnan(found.per_observation[1])


@pytest.mark.parametrize(("observations", "each", "rows"), [(10, 3, 7), (5, 100, 8), (7, 1, 1000), (1, 1, 1)])
def test_chunks_cover_every_observation_once_and_stay_small(observations, each, rows):
    slices = split_observations(observations, each, rows)
    assert np.concatenate([np.arange(observations)[one] for one in slices]).tolist() == list(range(observations))
    assert all((one.stop - one.start) * each <= rows or one.stop - one.start == 1 for one in slices)


def test_a_flat_observation_is_dead_in_numpy_as_it_is_in_torch():
    """One of three pays the same whatever is done: rounding of its baseline is no noise."""
    places = np.array([[0.0], [1.0], [0.0]])
    ask = {"mean": np.zeros((3, 1)), "samples": 100, "discount": 0.9}
    in_torch = esnr((still, lambda z, a: torch.where(z[:, 0] > 0, 0.1, a[:, 0])), places, "zog", **ask)
    in_numpy = esnr(
        PairModel(still, lambda z, a: np.where(z[:, 0] > 0, 0.1, a[:, 0]), library="numpy"), places, "zog", **ask
    )
    assert in_torch.flat_share == in_numpy.flat_share == pytest.approx(1 / 3)
    assert in_torch.dead_share == pytest.approx(1 / 3) and np.isnan(in_torch.per_observation[1])
    np.testing.assert_allclose(in_numpy.per_observation, in_torch.per_observation, rtol=1e-4)
