import numpy as np
import pytest
import torch

from wmel import catalog
from wmel.contract.objective import DiscountedSum, ModelReward
from wmel.contract.world_model import HasReward
from wmel.machine import limit_threads
from wmel.models.imagine import ImaginedCost, rollout
from wmel.models.mlp import LatentMLP, LatentMLPModel
from wmel.objectives import Upright
from wmel.parts import implements
from wmel.testing import check_world_model, failures

OBSERVATION, ACTION, LATENT = 6, 5, 32


def network(observation=OBSERVATION, action=ACTION, **settings) -> LatentMLP:
    torch.manual_seed(0)
    made = LatentMLP(observation, action, **settings).requires_grad_(False)
    for name in ("observation_centre", "observation_scale", "reward_centre", "reward_scale"):
        getattr(made, name).copy_(torch.rand(getattr(made, name).shape) + 0.5)
    return made


@pytest.mark.parametrize(
    ("world", "sizes", "action_input"), [("dmc_acrobot", (6, 5), "one_hot"), ("dmc:cartpole-swingup", (5, 1), "value")]
)
def test_it_keeps_the_contract_of_a_world_model(world, sizes, action_input):
    model = LatentMLPModel(network(*sizes), action_input=action_input)
    assert failures(check_world_model(model, catalog.environment(world))) == []
    assert implements(model, HasReward)


def test_each_reward_is_of_the_latent_its_action_was_taken_in():
    model = LatentMLPModel(network())
    trajectory, actions = torch.randn(7, 5, LATENT), torch.randn(7, 4, ACTION)
    rewards = model.rewards(trajectory, actions)
    assert rewards.shape == (7, 4)
    for step in range(4):
        alone = model.network.rewards(trajectory[:, step], actions[:, step])
        torch.testing.assert_close(rewards[:, step], alone)


def test_rewards_and_observations_are_in_their_own_units():
    made = network()
    latents, actions = torch.randn(20, LATENT), torch.randn(20, ACTION)
    observations, rewards = made.decode(latents), made.rewards(latents, actions)
    for name in ("observation", "reward"):
        getattr(made, f"{name}_centre").add_(3)
    torch.testing.assert_close(made.decode(latents), observations + 3)
    torch.testing.assert_close(made.rewards(latents, actions), rewards + 3)


def test_gradients_of_actions_are_finite_differences():
    """After the model was first used in inference mode, as planners do."""
    model = LatentMLPModel(network().double())
    start, actions = torch.randn(3, LATENT, dtype=torch.double), torch.randn(3, 4, ACTION, dtype=torch.double)

    def score(actions):
        trajectory = rollout(model, start, actions)
        return model.decode(trajectory[:, -1]).sum() + model.rewards(trajectory, actions).sum()

    with torch.inference_mode():
        score(actions)
    wanted = actions.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(score(wanted), wanted)
    for place in [(0, 0, 0), (1, 3, 2), (2, 2, 4)]:
        nudge = torch.zeros_like(actions)
        nudge[place] = 1e-5
        slope = (score(actions + nudge) - score(actions - nudge)) / 2e-5
        assert gradient[place] == pytest.approx(float(slope), rel=1e-6)


@pytest.mark.parametrize("objective", [Upright((2, 3), DiscountedSum()), ModelReward()], ids=["upright", "reward"])
def test_company_changes_no_bit_of_a_cost(objective):
    """The same candidates among 1, 3 or 40 episodes: rows are filled up to a multiple of 16."""
    world = catalog.environment("dmc_acrobot")
    model = LatentMLPModel(network(), action_input="one_hot")
    rng = np.random.default_rng(0)
    latents = torch.as_tensor(rng.normal(size=(40, LATENT)), dtype=torch.float32)
    candidates = torch.as_tensor(rng.integers(0, 5, (40, 50, 15, 1)), dtype=torch.int32)

    def costs(rows):
        goals = np.zeros((len(rows), 0))
        cost = ImaginedCost(model, objective, world.spec.actions, latents[rows], goals, OBSERVATION)
        return cost(candidates[rows]).costs

    with limit_threads(1):
        together = costs(list(range(40)))
        assert torch.equal(together[:3], costs([0, 1, 2]))
        assert torch.equal(together[7:8], costs([7]))


def test_threads_change_no_bit():
    """Torch would share out so many rows among threads, and does the last numbers of a share by other instructions."""
    model = LatentMLPModel(network())
    latents = torch.randn(20, 16 * 65, LATENT)
    with limit_threads(1):
        alone = torch.stack([torch.cat([model.decode(some) for some in rows.split(16)]) for rows in latents])
    with limit_threads(3):  # not torch.set_num_threads, after which MKL takes no other limit in this thread
        assert torch.get_num_threads() == 3
        assert torch.equal(torch.stack([model.decode(rows) for rows in latents]), alone)


def test_an_observation_wider_than_the_latent_is_encoded_too():
    model = LatentMLPModel(network(observation=50))
    latents = model.network.encode(torch.randn(4, 50))
    assert latents.shape == (4, LATENT) and model.decode(latents).shape == (4, 50)
