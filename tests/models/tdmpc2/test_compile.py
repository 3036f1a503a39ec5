"""The compiled networks against torch's modules of the same weights."""

import pytest
import torch

from tests.models.tdmpc2.by_hand import SMALL, random_network
from wmel.models.compiled.tdmpc2 import CompiledEnsemble, CompiledStack, compile_network
from wmel.models.tdmpc2.model import WIDEST_COMPILED, TDMPC2Model, TDMPC2WithDecoder
from wmel.models.tdmpc2.network import NetworkShape, Tasks

OBSERVATION, ACTION = 5, 2


def networks(shape=SMALL, **settings) -> TDMPC2WithDecoder:
    torch.manual_seed(0)
    low, high = torch.full((ACTION,), -1.0), torch.ones(ACTION)
    return (
        TDMPC2WithDecoder(random_network(OBSERVATION, ACTION, shape, **settings), low, high)
        .requires_grad_(False)
        .eval()
    )


def close(made: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(made, wanted, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("activation", ["mish", "relu"])
@pytest.mark.parametrize("norm", ["simnorm", "layernorm", "none"])
@pytest.mark.parametrize("tasks", [None, Tasks(3, 4)])
def test_every_part_makes_the_same_numbers(activation, norm, tasks):
    own = networks(activation=activation, latent_norm=norm, tasks=tasks)
    made = compile_network(own)
    observations, actions = torch.randn(13, OBSERVATION), torch.rand(13, ACTION) * 2 - 1
    latents = own.agent.encode(observations)
    close(made.agent.encode(observations), latents)
    close(made.agent.next(latents, actions), own.agent.next(latents, actions))
    close(made.agent.reward_logits(latents, actions), own.agent.reward_logits(latents, actions))
    close(made.agent.value_logits(latents, actions), own.agent.value_logits(latents, actions))
    for ours, theirs in zip(
        made.agent.policy_distribution(latents), own.agent.policy_distribution(latents), strict=True
    ):
        close(ours, theirs)
    close(made.decoder(latents), own.decoder(latents))


def test_it_is_a_copy_of_how_things_were_and_leaves_the_network_alone():
    own = networks()
    made, observations = compile_network(own), torch.randn(4, OBSERVATION)
    before = own.agent.encode(observations)
    with torch.no_grad():
        for values in own.parameters():
            values.zero_()
    close(made.agent.encode(observations), before)
    assert not isinstance(own.decoder, CompiledStack) and isinstance(made.decoder, CompiledStack)
    assert isinstance(made.agent.critics, CompiledEnsemble)
    assert sum(values.numel() for values in made.parameters()) == 0, "no weight is held twice"


@pytest.mark.parametrize("tasks", [None, Tasks(3, 4)])
def test_a_rollout_at_once_is_the_rollout_step_by_step(tasks):
    model = TDMPC2Model(networks(tasks=tasks))
    latents, actions = torch.rand(30, SMALL.latent), torch.rand(30, 6, ACTION) * 2 - 1
    trajectory = model.rollout(latents, actions)
    now = latents
    for step in range(6):
        now = model.step(now, actions[:, step])
        assert torch.equal(trajectory[:, step + 1], now)


def test_wide_networks_and_double_precision_stay_with_torch():
    wide = NetworkShape(8, WIDEST_COMPILED + 16, 8, 2, 2)
    for own in (networks(shape=wide), networks().double()):
        model = TDMPC2Model(own)
        latents, actions = (
            torch.rand(16, own.agent.shape.latent, dtype=own.low.dtype),
            torch.rand(16, ACTION).to(own.low),
        )
        with torch.inference_mode():
            assert torch.equal(model.step(latents, actions), own.agent.next(latents, own.scale_actions(actions)))
        assert model.spec.row_multiple > 1


def test_whoever_asks_for_a_gradient_gets_the_gradient_of_torch():
    model = TDMPC2Model(networks())
    latents, actions = torch.rand(16, SMALL.latent), (torch.rand(16, 3, ACTION) * 2 - 1).requires_grad_()
    trajectory = model.rollout(latents, actions)
    close(trajectory.detach(), model.rollout(latents, actions.detach()))
    trajectory[:, -1, 0].sum().backward()
    assert actions.grad is not None and actions.grad.abs().min() > 0
    with torch.no_grad():
        assert torch.equal(model.rollout(latents, actions), model.rollout(latents, actions.detach()))
    assert model.spec.row_multiple == 1


@pytest.mark.parametrize("tasks", [None, Tasks(3, 4)])
def test_weights_that_still_learn_get_their_gradient(tasks):
    own = networks(tasks=tasks).requires_grad_()
    model = TDMPC2Model(own)
    latents, actions = torch.rand(5, SMALL.latent), torch.rand(5, ACTION)
    model.step(latents, actions).square().sum().backward()
    assert own.agent.dynamics[0].weight.grad is not None
    with torch.no_grad():
        close(model.step(latents, actions), own.agent.next(latents, own.scale_actions(actions)))


def test_another_task_can_be_chosen_after_the_first():
    model = TDMPC2Model(networks(tasks=Tasks(3, 4)))
    latents, actions = torch.rand(5, SMALL.latent), torch.rand(5, ACTION)
    first = model.step(latents, actions)
    model.agent.task = 2
    close(model.step(latents, actions), model.agent.next(latents, model.network.scale_actions(actions)))
    assert (model.step(latents, actions) - first).abs().max() > 1e-3
