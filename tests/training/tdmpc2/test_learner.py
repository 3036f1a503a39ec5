"""One update against a slow loop over steps and critics, its gradients by autograd, its step by Adam's formula."""

import copy
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.models.tdmpc2.by_hand import SMALL, layers, meant, random_network, under
from wmel.models.tdmpc2.network import TDMPC2
from wmel.training.tdmpc2.learner import LOSSES, Learner
from wmel.training.tdmpc2.trainer import TDMPC2Trainer

OBSERVATION, ACTION, BATCH, HORIZON = 5, 2, 12, 4
SETTINGS = TDMPC2Trainer(horizon=HORIZON, decay=0.7, clip=1e9)
DISCOUNT = 0.9
Windows = tuple[Tensor, Tensor, Tensor]


def learner(critics=2, still=True, settings=SETTINGS, **network) -> Learner:
    """Target critics that are not the critics; a `still` policy hardly deviates from its mean, so noise is nothing."""
    made = random_network(OBSERVATION, ACTION, replace(SMALL, critics=critics), dropout=0.0, **network)
    made.requires_grad_(True)
    with torch.no_grad():
        made.critics.layers[-1].weight.mul_(3)  # values that differ from row to row by more than one
        made.critics.layers[-1].bias.zero_()
        if still:
            made.policy[-1].weight[ACTION:] = 0
            made.policy[-1].bias[ACTION:] = -50
    learner = Learner(made, settings, DISCOUNT)
    torch.manual_seed(5)
    for weight in learner.targets.parameters():
        weight.mul_(1 + torch.randn(weight.shape) * 0.3)
    return learner


def windows(seed=0, batch=BATCH) -> Windows:
    rng = np.random.default_rng(seed)
    shapes = ((HORIZON + 1, batch, OBSERVATION), (HORIZON, batch, ACTION), (HORIZON, batch))
    one, two, three = (torch.as_tensor(rng.normal(size=shape), dtype=torch.float32) for shape in shapes)
    return one, two.tanh(), three * 3


def aims_by_hand(made: Learner, observations: Tensor, rewards: Tensor) -> np.ndarray:
    """What every target critic says of the mean action where one arrives: reward + discount * value, [n,H,B]."""
    weights, targets = made.network.state_dict(), made.targets.state_dict()
    after = made.network.encode(observations[1:]).detach().double().numpy()
    acted = np.tanh(layers(under(weights, "policy."), after)[..., :ACTION])
    inputs = np.concatenate([after, acted], -1)
    values = [
        meant(layers(under(targets, "layers.", member), inputs)) for member in range(len(targets["layers.0.bias"]))
    ]
    return rewards.double().numpy() + DISCOUNT * np.array(values)


def cross_entropy(logits: Tensor, number: float) -> Tensor:
    place = math.copysign(math.log1p(abs(number)), number) / 0.2 + 50
    lower = min(math.floor(place), 99)
    logs = logits - logits.exp().sum().log()
    return -(lower + 1 - place) * logs[lower] - (place - lower) * logs[lower + 1]


def losses_by_hand(network: TDMPC2, seen: Windows, aims: np.ndarray, decay: float) -> tuple[list[Tensor], list[Tensor]]:
    """Consistency, reward and value losses, and the latents met: one step, critic and row after the other."""
    observations, actions, rewards = seen
    with torch.no_grad():
        after = [network.encode(observations[now]) for now in range(1, HORIZON + 1)]
    latents, losses = [network.encode(observations[0])], [torch.zeros(()) for _ in range(3)]
    critics = len(network.critics.layers[0].bias)
    for now in range(HORIZON):
        share = decay**now / HORIZON
        latents.append(network.next(latents[now], actions[now]))
        losses[0] = losses[0] + share * ((latents[-1] - after[now]) ** 2).mean()
        rewarded = network.reward_logits(latents[now], actions[now])
        valued = network.value_logits(latents[now], actions[now])
        for row in range(BATCH):
            losses[1] = losses[1] + share * cross_entropy(rewarded[row], float(rewards[now, row])) / BATCH
            for critic in range(critics):
                surprise = cross_entropy(valued[critic, row], float(aims[now, row]))
                losses[2] = losses[2] + share * surprise / BATCH / critics
    return losses, latents


def named(network: TDMPC2, *parts: str) -> dict[str, Tensor]:
    return {name: weight for name, weight in network.named_parameters() if name.split(".")[0] in parts}


def changed(before: TDMPC2, after: TDMPC2) -> set[str]:
    pairs = zip(before.named_parameters(), after.named_parameters(), strict=True)
    return {name.split(".")[0] for (name, one), (_, other) in pairs if not torch.equal(one, other)}


def test_values_should_be_the_reward_and_the_least_of_two_target_critics():
    made = learner()
    observations, _, rewards = windows()
    after, aims = made.compute_targets(observations, rewards)
    assert after.shape == (HORIZON, BATCH, SMALL.latent) and not aims.requires_grad and not after.requires_grad
    torch.testing.assert_close(after, made.network.encode(observations[1:]))
    both = aims_by_hand(made, observations, rewards)
    assert 0.1 < (both[0] < both[1]).mean() < 0.9
    np.testing.assert_allclose(aims, both.min(0), rtol=5e-3, atol=5e-3)


def test_of_more_critics_two_are_drawn_anew():
    made = learner(critics=4)
    observations, _, rewards = windows()
    each = aims_by_hand(made, observations, rewards)
    pairs = {(one, two): np.minimum(each[one], each[two]) for one in range(4) for two in range(one)}
    torch.manual_seed(0)
    samples = []
    for _ in range(120):
        aims = made.compute_targets(observations, rewards)[1].numpy()
        distances = {pair: np.abs(aims - wanted).max() for pair, wanted in pairs.items()}
        samples.append(min(distances, key=distances.get))
        assert distances[samples[-1]] < 0.1 < sorted(distances.values())[1]
    counts = [samples.count(pair) for pair in pairs]
    assert len(set(samples)) == 6 and min(counts) > 5


def test_policies_that_waver_are_followed_as_they_waver():
    made = learner(still=False)
    observations, _, rewards = windows()
    assert not torch.equal(
        made.compute_targets(observations, rewards)[1], made.compute_targets(observations, rewards)[1]
    )


@pytest.mark.parametrize("critics", [2, 1])
@pytest.mark.parametrize("decay", [0.5, 1.0])
def test_losses_and_gradients_are_those_of_a_slow_loop(critics, decay):
    made = learner(critics, settings=replace(SETTINGS, decay=decay))
    seen, before = windows(), copy.deepcopy(made.network)
    aims = aims_by_hand(made, seen[0], seen[2]).min(0)
    wanted, _ = losses_by_hand(before, seen, aims, decay)
    made.update(*seen)
    np.testing.assert_allclose(made.losses[:3], [float(loss.detach()) for loss in wanted], rtol=2e-3)
    total = 20 * wanted[0] + 0.1 * wanted[1] + 0.1 * wanted[2]
    assert float(made.losses[4]) == pytest.approx(float(total.detach()), rel=2e-3)
    total.backward()
    found = named(made.network, "encoder", "dynamics", "reward", "critics")
    for name, weight in named(before, "encoder", "dynamics", "reward", "critics").items():
        largest = float(weight.grad.abs().max())
        np.testing.assert_allclose(found[name].grad, weight.grad, rtol=2e-2, atol=5e-3 * largest, err_msg=name)


def test_a_step_is_adams_with_the_encoder_at_its_share():
    """The first step of Adam is rate * g / (|g| + eps), whatever its averages remember."""
    made = learner()
    before = copy.deepcopy(made.network)
    made.update(*windows())
    rates = {"encoder": (0.3 * 3e-4, 1e-8), "policy": (3e-4, 1e-5)}
    for (name, old), (_, new) in zip(before.named_parameters(), made.network.named_parameters(), strict=True):
        rate, eps = rates.get(name.split(".")[0], (3e-4, 1e-8))
        wanted = -rate * new.grad / (new.grad.abs() + eps)
        torch.testing.assert_close((new - old).detach(), wanted, rtol=0, atol=2e-3 * rate + 3e-7, msg=name)


@pytest.mark.parametrize("parts", [("encoder", "dynamics", "reward", "critics"), ("policy",)])
def test_gradients_are_clipped_together(parts):
    made = learner(settings=replace(SETTINGS, clip=1e-3))
    made.update(*windows())
    squares = sum(float(weight.grad.square().sum()) for weight in named(made.network, *parts).values())
    assert math.sqrt(squares) == pytest.approx(1e-3, rel=1e-3)


def test_the_policy_is_paid_by_the_critics_as_they_are_after_their_update():
    """Two critics' mean at the policy's action, over the scale, step t counting decay^t, the last latent too."""
    made = learner(settings=replace(SETTINGS, entropy=0.0))
    seen, before = windows(), copy.deepcopy(made.network)
    aims = aims_by_hand(made, seen[0], seen[2]).min(0)
    _, latents = losses_by_hand(before, seen, aims, 0.7)
    made.update(*seen)
    met = torch.stack(latents).detach().double().numpy()
    acted = np.tanh(layers(under(before.state_dict(), "policy."), met)[..., :ACTION])
    weights, inputs = made.network.state_dict(), np.concatenate([met, acted], -1)
    values = np.mean([meant(layers(under(weights, "critics.layers.", member), inputs)) for member in range(2)], 0)
    spread = np.percentile(values[0], 95) - np.percentile(values[0], 5)
    scale = 0.99 * 1 + 0.01 * max(spread, 1)
    assert spread > 1 and float(made.scale) == pytest.approx(scale, rel=1e-3)
    wanted = np.mean([-(0.7**now) * values[now].mean() / scale for now in range(HORIZON + 1)])
    assert float(made.losses[3]) == pytest.approx(wanted, rel=5e-3, abs=5e-3)


def test_the_scale_never_falls_below_one():
    made = learner(settings=replace(SETTINGS, value=0.0))
    with torch.no_grad():
        for weight in made.network.critics.layers[-1].parameters():
            weight.zero_()
    for seed in range(3):
        made.update(*windows(seed))
    assert float(made.scale) == 1


def test_entropy_is_that_of_a_gaussian_times_the_width_of_an_action():
    """.5 + .5 log(2 pi) + log-deviation of each number, summed, times how many there are; nothing for the tanh."""
    made = learner(settings=replace(SETTINGS, entropy=1.0, value=0.0, decay=1.0))
    with torch.no_grad():
        for weight in made.network.critics.layers[-1].parameters():
            weight.zero_()
        made.network.policy[-1].bias[ACTION:] = torch.tensor([0.0, -0.5])
    torch.manual_seed(0)
    made.update(*windows(batch=4000))
    logs = [-10 + 6 * (math.tanh(number) + 1) for number in (0.0, -0.5)]
    wanted = -ACTION * sum(0.5 + 0.5 * math.log(2 * math.pi) + log for log in logs)
    assert float(made.losses[3]) == pytest.approx(wanted, abs=0.06)


def test_target_critics_follow_by_a_hundredth():
    made = learner()
    old = [weight.clone() for weight in made.targets.parameters()]
    made.update(*windows())
    for before, after, source in zip(old, made.targets.parameters(), made.network.critics.parameters(), strict=True):
        torch.testing.assert_close(after, 0.99 * before + 0.01 * source.detach(), rtol=1e-5, atol=1e-6)
        assert not after.requires_grad and after.grad is None


def test_target_critics_start_as_the_critics():
    made = Learner(random_network(), SETTINGS, DISCOUNT)
    for one, other in zip(made.targets.parameters(), made.network.critics.parameters(), strict=True):
        assert torch.equal(one, other) and one.data_ptr() != other.data_ptr()


def test_learning_the_policy_leaves_the_model_alone():
    made = learner(settings=replace(SETTINGS, consistency=0.0, reward=0.0, value=0.0))
    before = copy.deepcopy(made.network)
    for seed in range(3):
        made.update(*windows(seed))
    assert changed(before, made.network) == {"policy"}
    assert all(weight.requires_grad for weight in made.network.parameters())


def test_learning_the_model_leaves_the_policy_alone():
    """Critics that say nothing and do not learn leave the policy without a reason to move."""
    made = learner(settings=replace(SETTINGS, value=0.0, entropy=0.0))
    with torch.no_grad():
        for weight in made.network.critics.layers[-1].parameters():
            weight.zero_()
    before = copy.deepcopy(made.network)
    for seed in range(3):
        made.update(*windows(seed))
    assert changed(before, made.network) == {"encoder", "dynamics", "reward"}


@pytest.mark.parametrize("critics", [2, 5])
def test_the_same_seed_gives_the_same_bits(critics):
    def after(seed):
        made = learner(critics, still=False)
        made.network.dropout = 0.3
        torch.manual_seed(seed)
        for batch in range(3):
            made.update(*windows(batch))
        return torch.cat([weight.detach().flatten() for weight in made.network.parameters()]), made.losses

    one, same, other = after(0), after(0), after(1)
    assert torch.equal(one[0], same[0]) and torch.equal(one[1], same[1]) and not torch.equal(one[0], other[0])


@pytest.mark.slow
def test_it_learns_the_rewards_and_values_of_one_batch():
    made = learner(settings=replace(SETTINGS, learning_rate=3e-3))
    seen = windows()
    made.update(*seen)
    first = made.losses.clone()
    for _ in range(80):
        made.update(*seen)
    assert made.losses[0] < 0.5 * first[0] and made.losses[1] < 0.7 * first[1] and made.losses[2] < 0.9 * first[2]
    assert len(LOSSES) == len(made.losses) and float(made.non_finite_updates) == 0


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_reward_that_is_no_number_is_counted(number):
    made = learner()
    made.update(*windows())
    assert float(made.non_finite_updates) == 0
    observations, actions, rewards = windows(1)
    rewards[1, 3] = number
    made.update(observations, actions, rewards)
    assert float(made.non_finite_updates) == 1


def test_dropout_is_for_the_update_alone():
    made = learner()
    made.network.dropout = 0.5
    made.update(*windows())
    made.network.train()
    latents, acted = windows()[0][0].new_zeros(3, SMALL.latent), torch.zeros(3, ACTION)
    assert torch.equal(made.network.value_logits(latents, acted), made.network.value_logits(latents, acted))
