"""A model's own policy, acting without a plan."""

import numpy as np
import pytest
import torch

from tests.models.tdmpc2.untrained import untrained_checkpoint
from tests.policies.own_models import Batched, Four, dynamics
from tests.policies.test_latent_mppi import Errand, percept, streams, tdmpc2, wanted
from wmel import catalog
from wmel.closed_loop.run import BenchmarkRunner
from wmel.errors import BadInput
from wmel.machine import limit_threads
from wmel.models.tdmpc2.model import TDMPC2Model
from wmel.policies.direct import Prior, prior
from wmel.training.checkpoints import restore


@pytest.fixture(autouse=True)
def one_thread():
    with limit_threads(1):
        yield


@pytest.fixture(scope="module")
def swingup():
    return catalog.environment("dmc:cartpole-swingup")


def observations(count: int = 7) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(count, 5)).astype(np.float32)


def decided(policy: Prior, seen: np.ndarray, moment: int = 0):
    return policy.act(percept(seen), None, streams(len(seen), moment))


def test_the_mean_action_of_the_policy_is_executed_and_nothing_is_imagined(swingup):
    model, seen = tdmpc2(5, 1), observations()
    made = decided(prior(swingup, model), seen)
    mean = model.policy(model.encode(percept(seen), None), None)
    assert np.array_equal(made.actions[:, 0], mean.numpy()) and made.actions.dtype == np.float32
    assert made.lengths.tolist() == [1] * 7 and made.model_steps.tolist() == [0] * 7 and made.memory is None
    assert len(np.unique(made.actions)) == 7


def test_the_moment_changes_nothing(swingup):
    policy, seen = prior(swingup, tdmpc2(5, 1)), observations()
    assert np.array_equal(decided(policy, seen, 0).actions, decided(policy, seen, 3).actions)


def test_rows_do_not_depend_on_their_company(swingup):
    policy, seen = prior(swingup, tdmpc2(5, 1)), observations()
    whole = decided(policy, seen).actions
    for rows in ([0], [2, 5, 6], [6, 0]):
        assert np.array_equal(decided(policy, seen[rows]).actions, whole[rows])


def test_how_the_model_imagines_does_not_matter(swingup):
    model, seen = tdmpc2(5, 1), observations()
    decoded = prior(swingup, TDMPC2Model(model.network, "decoded"))
    assert np.array_equal(decided(decoded, seen).actions, decided(prior(swingup, model), seen).actions)
    assert decoded.settings["model"] == "tdmpc2-decoded"


@pytest.mark.parametrize(("mean", "level"), [(-0.9, -1.0), (-0.3, -0.5), (0.1, 0.0), (0.7, 0.5), (5.0, 1.0)])
def test_levels_are_the_nearest(mean, level):
    """The cartpole of the CPG paper: five forces from -1 to 1."""
    world = catalog.environment("dmc_cartpole")
    made = decided(prior(world, Errand(policy_is=mean)), wanted([0.0], [0.0]))
    assert made.actions.dtype == world.spec.actions.dtype
    np.testing.assert_allclose(world.spec.actions.as_values(made.actions[:, 0]), [[level], [level]])


def test_actions_beyond_the_bounds_are_cut_off(swingup):
    assert decided(prior(swingup, Errand(policy_is=3.0)), wanted([0.0])).actions.item() == 1.0


def test_a_checkpoint_plays_whole_episodes(swingup, tmp_path):
    model = restore(untrained_checkpoint(tmp_path, swingup), swingup)
    policy = catalog.policy("prior", swingup, model=model)
    run = BenchmarkRunner(swingup, policy, 3, 6, seed=0).run()
    assert run.policy_name == "prior" and (run.table["error"] == "").all()
    assert run.table["steps"].tolist() == [6] * 3 and not run.table["declared_compute"].any()
    assert run.policy_settings == {"model": "tdmpc2", "weights": model.spec.weights, "execute": 1}


@pytest.mark.parametrize(
    ("model", "name"), [(Batched(), "batched"), (Batched, "batched"), (Four(), "Four"), (dynamics, "dynamics")]
)
def test_a_model_without_a_policy_is_refused(maze, model, name):
    with pytest.raises(BadInput, match=f"^{name} has no policy"):
        catalog.policy("prior", maze, model=model)


def test_without_a_model_there_is_no_policy(maze):
    with pytest.raises(BadInput, match="prior needs a model"):
        catalog.policy("prior", maze)


def test_actions_that_are_no_numbers_are_refused(maze):
    with pytest.raises(BadInput, match="maze_toy are not numeric:"):
        catalog.policy("prior", maze, model=Errand())


def test_no_gradient_is_kept(swingup):
    model = tdmpc2(5, 1)
    model.network.requires_grad_(True)
    try:
        assert isinstance(decided(prior(swingup, model), observations()).actions, np.ndarray)
    finally:
        model.network.requires_grad_(False)
    assert torch.is_grad_enabled()
