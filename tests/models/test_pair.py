import numpy as np
import pytest
import torch

from wmel.contract.policy import Percept
from wmel.contract.world_model import HasReward
from wmel.errors import BadInput, BadModel
from wmel.models.callable_model import PairModel
from wmel.models.imagine import rollout
from wmel.parts import implements


def seen(observations) -> Percept:
    array = np.asarray(observations, float)
    count = len(array)
    return Percept(array, np.zeros((count, 0)), None, np.zeros((count, 0)), np.zeros(count, int))


def push(z, a):
    return z + 2 * a


def paid(z, a):
    return z[:, 0] * 10 + a[:, 0]


@pytest.mark.parametrize(("library", "kind"), [("torch", torch.Tensor), ("numpy", np.ndarray)])
def test_functions_get_arrays_of_the_library_asked_for(library, kind):
    met = []

    def reward(z, a):
        met.extend([z, a])
        return paid(z, a)

    model = PairModel(push, reward, library=library)
    latents = model.encode(seen([[1.0], [2.0]]), None)
    actions = latents[:, None] * 0 + 1
    trajectory = rollout(model, latents, actions)
    model.rewards(trajectory, actions)
    assert isinstance(latents, kind) and all(isinstance(one, kind) for one in met)
    assert model.decode(latents) is latents


@pytest.mark.parametrize("library", ["torch", "numpy"])
def test_a_reward_is_of_the_latent_its_action_met(library):
    model = PairModel(push, paid, library=library)
    latents = model.encode(seen([[1.0], [-1.0]]), None)
    actions = np.array([[[1.0], [2.0], [3.0]], [[0.0], [1.0], [0.0]]])
    actions = torch.as_tensor(actions, dtype=torch.float32) if library == "torch" else actions
    trajectory = rollout(model, latents, actions)
    assert trajectory[..., 0].tolist() == [[1, 3, 7, 13], [-1, -1, 1, 1]]
    assert model.rewards(trajectory, actions).tolist() == [[11, 32, 73], [-10, -9, 10]]


def test_numpy_latents_keep_double_precision():
    model = PairModel(push, paid, library="numpy")
    assert model.encode(seen([[0.1]]), None).dtype == np.float64


def test_gradients_go_through():
    model = PairModel(push, paid)
    actions = torch.zeros(1, 3, 1, requires_grad=True)
    model.rewards(rollout(model, torch.zeros(1, 1), actions), actions).sum().backward()
    assert actions.grad.reshape(-1).tolist() == [41, 21, 1]


def test_it_has_a_name_and_a_reward_of_its_own():
    model = PairModel(push, paid, name="mine")
    assert model.spec.name == "mine" and implements(model, HasReward)


@pytest.mark.parametrize(
    "reward", [lambda z, a: a, lambda z, a: a.sum(), lambda z, a: torch.zeros(len(a) + 1), lambda z, a: 0.0]
)
def test_a_reward_of_another_shape_is_refused(reward):
    model = PairModel(push, reward)
    with pytest.raises(BadModel, match="one number per row"):
        model.rewards(torch.zeros(2, 4, 1), torch.zeros(2, 3, 1))


def test_a_value_is_of_each_latent():
    model = PairModel(push, paid, value=lambda z: z.sum(1))
    assert model.values(torch.ones(3, 2)).tolist() == [2, 2, 2]


def test_a_value_that_was_not_given_is_refused():
    with pytest.raises(BadInput, match="mine has no value function"):
        PairModel(push, paid, name="mine").values(torch.zeros(2, 1))


@pytest.mark.parametrize("value", [lambda z: z.sum(), lambda z: torch.zeros(len(z), 2)])
def test_a_value_of_another_shape_is_refused(value):
    with pytest.raises(BadModel, match="one number per row"):
        PairModel(push, paid, value=value).values(torch.zeros(3, 1))


def test_an_unknown_library_is_refused():
    with pytest.raises(BadInput, match="jax"):
        PairModel(push, paid, library="jax")
