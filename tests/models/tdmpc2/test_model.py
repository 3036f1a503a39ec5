import copy

import numpy as np
import pytest
import torch

from tests.models.tdmpc2.by_hand import SMALL, layers, meant, random_network, under
from wmel import catalog
from wmel.contract.objective import DiscountedSum, ModelReward
from wmel.contract.policy import Percept
from wmel.contract.world_model import HasReward, HasValue
from wmel.machine import limit_threads
from wmel.models.imagine import ImaginedCost, rollout
from wmel.models.tdmpc2.model import TDMPC2Model, TDMPC2WithDecoder
from wmel.models.tdmpc2.network import SIZES, Tasks, two_hot_mean
from wmel.objectives import Upright
from wmel.parts import implements
from wmel.testing import check_world_model, failures

WAYS = ("latent", "decoded")
OBSERVATION, ACTION = 5, 2


def model(
    way="latent", observation=OBSERVATION, action=ACTION, box=(-1.0, 1.0), shape=SMALL, **settings
) -> TDMPC2Model:
    torch.manual_seed(0)
    low, high = (torch.full((action,), bound) for bound in box)
    networks = TDMPC2WithDecoder(random_network(observation, action, shape, **settings), low, high)
    return TDMPC2Model(networks.requires_grad_(False).eval(), way)


def rows(*shape: int, seed: int = 0, dtype=torch.float32) -> torch.Tensor:
    return torch.as_tensor(np.random.default_rng(seed).normal(size=shape), dtype=dtype)


def percept(observations: torch.Tensor) -> Percept:
    count = len(observations)
    nothing = np.zeros((count, 0))
    return Percept(observations.numpy(), nothing, nothing, np.zeros((count, ACTION)), np.full(count, 9))


def starts(made: TDMPC2Model, count: int) -> torch.Tensor:
    """Latents as the model encodes them."""
    return made.encode(percept(rows(count, made.agent.observation)), None)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("norm", ["simnorm", "layernorm", "none"])
def test_it_keeps_the_contract_of_a_world_model(way, norm):
    made = model(way, 5, 1, shape=SIZES[1], latent_norm=norm)
    assert failures(check_world_model(made, catalog.environment("dmc:cartpole-swingup"))) == []
    assert implements(made, HasReward) and implements(made, HasValue)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [32, 48, 160, 1024])
def test_company_in_sixteens_changes_no_bit(way, count):
    made = model(way, shape=SIZES[1])
    latents, acted = starts(made, count), rows(count, ACTION, seed=1).tanh()
    for ask, arguments in ((made.step, (latents, acted)), (made.decode, (latents,)), (made.values, (latents,))):
        apart = [ask(*some) for some in zip(*(each.split(16) for each in arguments), strict=True)]
        assert torch.equal(ask(*arguments), torch.cat(apart)), ask


UPRIGHT = Upright((1,), DiscountedSum())


@pytest.mark.parametrize(
    ("way", "objective"),
    [
        pytest.param("latent", UPRIGHT, id="latent-upright"),
        pytest.param("decoded", UPRIGHT, id="decoded-upright"),
        pytest.param("latent", ModelReward(), id="latent-reward"),
        pytest.param("decoded", ModelReward(), id="decoded-reward"),
    ],
)
def test_company_changes_no_bit_of_a_cost(way, objective):
    """The same candidates among 1, 3 or 20 episodes: rows are filled up to a multiple of 16."""
    world = catalog.environment("dmc:cartpole-swingup")
    made = model(way, 5, 1, shape=SIZES[1])
    latents = starts(made, 20)
    candidates = torch.as_tensor(np.random.default_rng(0).uniform(-1, 1, (20, 50, 3, 1)), dtype=torch.float32)

    def costs(chosen):
        goals = np.zeros((len(chosen), 0))
        cost = ImaginedCost(made, objective, world.spec.actions, latents[chosen], goals, 5)
        return cost(candidates[chosen]).costs

    together = costs(list(range(20)))
    assert torch.equal(together[:3], costs([0, 1, 2]))
    assert torch.equal(together[7:8], costs([7]))


@pytest.mark.parametrize("way", WAYS)
def test_any_company_changes_no_bit(way):
    made = model(way, shape=SIZES[1])
    latents, acted = starts(made, 40), rows(40, ACTION, seed=1).tanh()

    def answers(some):
        return (
            made.step(latents[some], acted[some]),
            made.values(latents[some]),
            made.policy(latents[some], acted[some]),
        )

    whole = answers(list(range(40)))
    seen = rows(40, OBSERVATION)
    assert torch.equal(made.encode(percept(seen), None)[7:8], made.encode(percept(seen[7:8]), None))
    for some in ([0], [3, 4, 5], list(range(17, 40))):
        assert all(torch.equal(one, other[some]) for one, other in zip(answers(some), whole, strict=True))


@pytest.mark.parametrize("size", [1, pytest.param(19, marks=pytest.mark.slow)])
@pytest.mark.parametrize("ask", ["encode", "step", "decode", "policy", "values"])
def test_threads_change_no_bit(ask, size):
    """Torch shares out many rows among threads, and does the last numbers of a share by other instructions."""
    made = model(shape=SIZES[size])
    arguments = rows(16 * 65, OBSERVATION if ask == "encode" else SIZES[size].latent)
    answers = {
        "encode": lambda some: made.encode(percept(some), None),
        "step": lambda some: made.step(some, some[:, :ACTION]),
        "decode": made.decode,
        "policy": lambda some: made.policy(some, some[:, :ACTION]),
        "values": made.values,
    }[ask]
    alone = torch.cat([answers(some) for some in arguments.split(16)])
    with limit_threads(3):
        together = answers(arguments)
    assert torch.equal(together, alone)


def test_decoded_it_encodes_moves_and_decodes_at_every_step():
    made = model("decoded")
    seen, acted = rows(7, OBSERVATION), rows(7, 4, ACTION, seed=1).tanh()
    trajectory = rollout(made, made.encode(percept(seen), None), acted)
    assert trajectory.shape == (7, 5, OBSERVATION)
    assert torch.equal(trajectory[:, 0], seen) and torch.equal(made.decode(trajectory[:, 2]), trajectory[:, 2])
    agent, decoder = made.agent, made.network.decoder
    for step in range(4):
        seen = decoder(agent.dynamics(torch.cat([agent.encoder(seen), acted[:, step]], -1)))
        torch.testing.assert_close(trajectory[:, step + 1], seen)


def test_in_latent_space_it_decodes_only_at_the_end():
    made = model()
    seen, acted = rows(7, OBSERVATION), rows(7, 4, ACTION, seed=1).tanh()
    trajectory = rollout(made, made.encode(percept(seen), None), acted)
    latents = made.agent.encoder(seen)
    for step in range(4):
        latents = made.agent.dynamics(torch.cat([latents, acted[:, step]], -1))
        torch.testing.assert_close(trajectory[:, step + 1], latents)
    weights = under(made.network.state_dict(), "decoder.")
    hidden = trajectory[:, -1].double().numpy()
    for place in ("0", "2", "4"):
        hidden = hidden @ weights[f"{place}.weight"].T + weights[f"{place}.bias"]
        hidden = hidden if place == "4" else hidden / (1 + np.exp(-hidden))
    np.testing.assert_allclose(made.decode(trajectory[:, -1]), hidden, rtol=1e-4, atol=1e-5)


def test_one_step_is_the_same_both_ways():
    latent = model()
    decoded = TDMPC2Model(latent.network, "decoded")
    seen, acted = rows(7, OBSERVATION), rows(7, ACTION, seed=1)
    moved = latent.decode(latent.step(latent.encode(percept(seen), None), acted))
    assert torch.equal(moved, decoded.step(decoded.encode(percept(seen), None), acted))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("box", [(-1.0, 1.0), (0.0, 3.0), (-0.2, 0.7), (-2.0, -1.0)])
def test_actions_arrive_between_minus_one_and_one(way, box):
    made, plain = model(way, box=box), model(way)
    low, high = box
    shares = torch.as_tensor(np.random.default_rng(0).uniform(0, 1, (9, 3, ACTION)), dtype=torch.float32)
    shares[0], shares[1], shares[2] = 0, 1, 0.5
    own, unit = low + shares * (high - low), 2 * shares - 1
    torch.testing.assert_close(made.network.scale_actions(own), unit, rtol=0, atol=1e-5)
    latents = starts(made, 9)
    trajectory = rollout(plain, latents, unit)
    torch.testing.assert_close(rollout(made, latents, own), trajectory, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(made.rewards(trajectory, own), plain.rewards(trajectory, unit), rtol=1e-2, atol=1e-3)


def test_each_number_of_an_action_has_bounds_of_its_own():
    networks = TDMPC2WithDecoder(random_network(), torch.tensor([-1.0, 0.0]), torch.tensor([1.0, 10.0]))
    torch.testing.assert_close(networks.scale_actions(torch.tensor([[0.5, 7.5]])), torch.tensor([[0.5, 0.5]]))
    assert networks.scale_actions(torch.tensor([[1, 5]])).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("way", WAYS)
def test_each_reward_is_of_the_latent_its_action_was_taken_in(way):
    made = model(way)
    trajectory = rollout(made, starts(made, 7), rows(7, 4, ACTION))
    acted = rows(7, 4, ACTION, seed=1).tanh()
    rewards = made.rewards(trajectory, acted)
    assert rewards.shape == (7, 4)
    weights = under(made.agent.state_dict(), "reward.")
    for step in range(4):
        met = trajectory[:, step] if way == "latent" else made.agent.encode(trajectory[:, step])
        alone = two_hot_mean(made.agent.reward_logits(met, acted[:, step]))
        torch.testing.assert_close(rewards[:, step], alone)
        arguments = np.concatenate([met.double().numpy(), acted[:, step].double().numpy()], 1)
        np.testing.assert_allclose(rewards[:, step], meant(layers(weights, arguments)), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("way", WAYS)
def test_values_are_the_mean_of_all_critics_at_the_policys_mean_action(way):
    made = model(way)
    starting = starts(made, 7)
    latents = (starting if way == "latent" else made.agent.encode(starting)).double().numpy()
    weights = made.agent.state_dict()
    acted = np.tanh(layers(under(weights, "policy."), latents)[:, :ACTION])
    arguments = np.concatenate([latents, acted], 1)
    each = [meant(layers(under(weights, "critics.layers.", member), arguments)) for member in range(SMALL.critics)]
    values = made.values(starting)
    assert values.shape == (7,) and np.std(each) > 0.1
    np.testing.assert_allclose(values, np.mean(each, 0), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("way", WAYS)
def test_gradients_of_actions_are_finite_differences(way):
    """After the model was first used in inference mode, as planners do."""
    made = model(way, box=(-1.0, 3.0))
    made = TDMPC2Model(copy.deepcopy(made.network).double(), way)
    start, actions = starts(made, 3), rows(3, 4, ACTION, dtype=torch.double)

    def score(actions):
        trajectory = rollout(made, start, actions)
        rewards = made.rewards(trajectory, actions).sum()
        return rewards + made.values(trajectory[:, -1]).sum() + made.decode(trajectory[:, -1]).sum()

    with torch.inference_mode():
        score(actions)
    wanted = actions.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(score(wanted), wanted)
    for place in [(0, 0, 0), (1, 3, 1), (2, 2, 0)]:
        nudge = torch.zeros_like(actions)
        nudge[place] = 1e-5
        slope = float(score(actions + nudge) - score(actions - nudge)) / 2e-5
        assert float(gradient[place]) == pytest.approx(slope, rel=1e-5, abs=1e-8) and slope != 0


def test_values_are_the_same_twice_however_the_network_was_left():
    made = model(dropout=0.5)
    made.network.train()
    latents = starts(made, 16)
    assert torch.equal(made.values(latents), made.values(latents))


def test_the_weights_are_known_by_a_hash():
    made, same = model(), model()
    assert made.spec.weights == same.spec.weights and made.spec.reads == "observation"
    other = copy.deepcopy(made.network)
    other.decoder[0].bias[0] += 1
    assert TDMPC2Model(other).spec.weights != made.spec.weights


def test_the_hash_is_the_same_after_use():
    made = model(tasks=Tasks(2, 64))
    made.agent.embedding.weight.mul_(10)
    before = TDMPC2Model(made.network).spec.weights
    starts(made, 3)
    assert TDMPC2Model(made.network).spec.weights == before
