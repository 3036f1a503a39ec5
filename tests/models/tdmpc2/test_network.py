import math

import numpy as np
import pytest
import torch

from tests.models.tdmpc2.by_hand import SMALL, layers, mish, random_network, relu, simplices, under
from wmel.errors import BadInput
from wmel.models.tdmpc2.network import SIZES, TDMPC2, NetworkShape, Tasks, two_hot_mean

OBSERVATION, ACTION = 5, 2


def fresh(seed: int = 0, **settings) -> TDMPC2:
    torch.manual_seed(seed)
    return TDMPC2(17, 6, SIZES[1], **settings).eval()


def rows(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.as_tensor(np.random.default_rng(seed).normal(size=shape), dtype=torch.float32)


@pytest.mark.parametrize(
    ("size", "tasks", "count"), [(1, None, 1_212_859), (5, None, 4_958_826), (5, Tasks(3, 96), 5_376_906)]
)
def test_it_has_as_many_weights_as_the_published_one(size, tasks, count):
    network = TDMPC2(17, 6, SIZES[size], tasks=tasks)
    assert sum(weight.numel() for weight in network.parameters()) == count


@pytest.mark.parametrize(("size", "widths"), [(19, [1024, 1024, 768]), (48, [1792] * 3 + [768])])
def test_larger_ones_encode_in_more_layers(size, widths):
    shape = SIZES[size]
    with torch.device("meta"):
        network = TDMPC2(17, 6, shape)
    assert [layer.weight.shape[0] for layer in network.encoder] == widths
    assert network.reward[0].weight.shape[0] == shape.hidden and len(network.critics.layers[0].weight) == 5


@pytest.mark.parametrize("seed", [0, 1])
def test_reward_and_values_start_at_zero_whatever_they_are_asked(seed):
    network = fresh(seed)
    latents, actions = network.encode(rows(9, 17) * 100), rows(9, 6).tanh()
    assert not network.reward_logits(latents, actions).any() and not network.value_logits(latents, actions).any()
    assert two_hot_mean(network.reward_logits(latents, actions)).abs().max() < 1e-5


def test_weights_start_small_and_biases_at_zero():
    """Normal with a deviation of .02; the norms change nothing."""
    network = fresh()
    for name, weight in network.requires_grad_(False).named_parameters():
        if name.endswith("ln.weight"):
            assert (weight == 1).all(), name
        elif name.endswith("bias") or name in ("reward.2.weight", "critics.layers.2.weight"):
            assert not weight.any(), name
        else:
            spread = 0.02 / math.sqrt(2 * weight.numel())
            assert float(weight.std()) == pytest.approx(0.02, abs=6 * spread), name
            assert abs(float(weight.mean())) < 6 * 0.02 / math.sqrt(weight.numel()), name
            assert weight.abs().max() < 0.12, name


def test_the_critics_start_apart():
    weights = fresh().critics.layers[0].weight
    assert not torch.equal(weights[0], weights[1])


@pytest.mark.parametrize("activation", ["mish", "relu"])
@pytest.mark.parametrize("latent_norm", ["simnorm", "layernorm", "none"])
def test_every_cell_of_activation_and_norm_is_its_formula(activation, latent_norm):
    network = random_network(activation=activation, latent_norm=latent_norm)
    weights, bent = network.state_dict(), {"mish": mish, "relu": relu}[activation]
    last = simplices if latent_norm == "simnorm" else None
    seen, acted = rows(7, OBSERVATION), rows(7, ACTION, seed=1).tanh()
    latents = layers(under(weights, "encoder."), seen.double().numpy(), bent, last)
    np.testing.assert_allclose(network.encode(seen), latents, rtol=1e-3, atol=1e-4)
    inputs = np.concatenate([latents, acted.double().numpy()], -1)
    now = torch.as_tensor(latents, dtype=torch.float32)
    after = layers(under(weights, "dynamics."), inputs, bent, last)
    np.testing.assert_allclose(network.next(now, acted), after, rtol=1e-3, atol=1e-4)
    rewarded = layers(under(weights, "reward."), inputs, bent)
    np.testing.assert_allclose(network.reward_logits(now, acted), rewarded, rtol=1e-3, atol=1e-4)
    valued = [layers(under(weights, "critics.layers.", member), inputs, bent) for member in range(SMALL.critics)]
    np.testing.assert_allclose(network.value_logits(now, acted), valued, rtol=1e-3, atol=1e-4)
    assert ("encoder.1.ln.weight" in weights) is (latent_norm != "none")


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e4])
def test_the_log_deviation_of_the_policy_has_bounds(scale):
    network = random_network()
    network.policy[-1].weight.mul_(scale)
    mean, log_deviation = network.policy_distribution(rows(200, SMALL.latent))
    assert mean.shape == log_deviation.shape == (200, ACTION)
    assert log_deviation.min() >= -10 and log_deviation.max() <= 2
    if scale == 1e4:
        assert log_deviation.min() == -10 and log_deviation.max() == 2


def test_the_policy_is_its_formula():
    network = random_network()
    latents = rows(7, SMALL.latent)
    made = layers(under(network.state_dict(), "policy."), latents.double().numpy())
    mean, log_deviation = network.policy_distribution(latents)
    np.testing.assert_allclose(mean, made[:, :ACTION], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(log_deviation, -10 + 6 * (np.tanh(made[:, ACTION:]) + 1), rtol=1e-3, atol=1e-4)


def test_rows_may_have_any_axes_before_the_last():
    network = random_network(tasks=Tasks(2, 4))
    latents, acted = rows(2, 3, SMALL.latent), rows(2, 3, ACTION)
    for made in (network.next, network.reward_logits, network.value_logits):
        whole = made(latents, acted)
        flat = made(latents.reshape(6, -1), acted.reshape(6, -1))
        torch.testing.assert_close(whole.reshape(flat.shape), flat)
    assert network.value_logits(latents, acted).shape == (SMALL.critics, 2, 3, 101)


@pytest.mark.parametrize("length", [0.5, 1.0, 7.0])
def test_a_task_is_known_by_an_embedding_no_longer_than_one(length):
    network = random_network(tasks=Tasks(3, 4))
    stored = network.embedding.weight.double().numpy().copy()
    stored *= length / np.linalg.norm(stored, axis=1, keepdims=True)
    network.embedding.weight.copy_(torch.as_tensor(stored))
    weights, seen = network.state_dict(), rows(6, OBSERVATION)
    made = []
    for task in range(3):
        network.task = task
        known = np.tile(stored[task] * min(1, 1 / length), (6, 1))
        wanted = layers(under(weights, "encoder."), np.concatenate([seen.double().numpy(), known], 1), last=simplices)
        made.append(network.encode(seen))
        np.testing.assert_allclose(made[-1], wanted, rtol=1e-3, atol=1e-4)
        assert network.embedding(torch.tensor(task)).norm() <= 1 + 1e-6
    assert (made[0] - made[1]).abs().max() > 1e-3 and (made[1] - made[2]).abs().max() > 1e-3


@pytest.mark.parametrize("part", ["next", "reward_logits", "value_logits"])
def test_every_head_knows_the_task(part):
    network = random_network(tasks=Tasks(2, 4))
    latents, acted = rows(6, SMALL.latent), rows(6, ACTION)
    made = []
    for network.task in (0, 1):
        made.append((getattr(network, part)(latents, acted), *network.policy_distribution(latents)))
    assert all((one - other).abs().max() > 1e-3 for one, other in zip(*made, strict=True))


def test_being_asked_changes_no_weight():
    network = random_network(tasks=Tasks(2, 64))
    network.embedding.weight.mul_(10)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    network.encode(rows(3, OBSERVATION))
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())


def test_a_latent_that_is_no_groups_is_refused():
    with pytest.raises(BadInput, match="a multiple of 8"):
        TDMPC2(5, 1, NetworkShape(16, 16, 12, 2, 2))


@pytest.mark.parametrize("unknown", [{"activation": "gelu"}, {"latent_norm": "batchnorm"}])
def test_what_nobody_knows_is_refused(unknown):
    with pytest.raises(BadInput):
        TDMPC2(5, 1, SMALL, **unknown)
