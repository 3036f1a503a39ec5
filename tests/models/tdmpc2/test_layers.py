import numpy as np
import pytest
import torch
from torch.nn import functional

from tests.models.tdmpc2.by_hand import layer_norm, layers, mish, relu, simplices
from wmel.models.tdmpc2.network import Ensemble, NormedLinear, build_stack, simnorm

ACTIVATIONS = {"mish": (mish, functional.mish), "relu": (relu, functional.relu)}


def randomised(module: torch.nn.Module, seed: int = 0) -> torch.nn.Module:
    generator = torch.Generator().manual_seed(seed)
    for weight in module.requires_grad_(False).double().parameters():
        weight.copy_(torch.randn(weight.shape, generator=generator, dtype=torch.double))
    return module


def numbers(*shape: int) -> torch.Tensor:
    return torch.as_tensor(np.random.default_rng(0).normal(size=shape) * 3)


@pytest.mark.parametrize("shape", [(8,), (5, 16), (2, 3, 40)])
def test_simnorm_is_a_softmax_in_each_group_of_eight(shape):
    made = simnorm(numbers(*shape))
    assert made.shape == shape and (made > 0).all()
    sums = made.reshape(-1, 8).sum(-1)
    torch.testing.assert_close(sums, torch.ones_like(sums))
    np.testing.assert_allclose(made, simplices(numbers(*shape).numpy()), rtol=1e-12)


def test_simnorm_does_not_mix_groups():
    before = numbers(24)
    after = before.clone()
    after[8:16] += numbers(8)
    changed = (simnorm(before) != simnorm(after)).reshape(3, 8).any(-1)
    assert changed.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("last", "formula"), [("mish", mish), ("relu", relu), ("simnorm", simplices), ("identity", lambda made: made)]
)
def test_a_normed_layer_is_linear_then_normed_then_bent(last, formula):
    layer = randomised(NormedLinear(5, 16, last))
    seen = numbers(9, 5)
    straight = seen.numpy() @ layer.weight.numpy().T + layer.bias.numpy()
    wanted = formula(layer_norm(straight, layer.ln.weight.numpy(), layer.ln.bias.numpy()))
    np.testing.assert_allclose(layer(seen), wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(
    ("end", "last", "normed"),
    [(None, None, False), ("none", None, False), ("layernorm", None, True), ("simnorm", simplices, True)],
)
def test_a_stack_ends_as_it_is_told(activation, end, last, normed):
    made = randomised(build_stack([5, 12, 12, 16], activation, end))
    weights = {name: value.numpy() for name, value in made.state_dict().items()}
    assert ("2.ln.weight" in weights) is normed
    wanted = layers(weights, numbers(4, 5).numpy(), ACTIVATIONS[activation][0], last)
    np.testing.assert_allclose(made(numbers(4, 5)), wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("shape", [(7,), (1,), (2, 3), (2, 1, 4)])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_an_ensemble_is_its_networks_one_by_one(activation, shape, count):
    made = randomised(Ensemble(count, [5, 12, 10, 6], activation))
    seen = numbers(*shape, 5)
    outputs = made(seen)
    assert outputs.shape == (count, *shape, 6)
    for member in range(count):
        hidden = seen
        for place, layer in enumerate(made.layers):
            hidden = functional.linear(hidden, layer.weight[member], layer.bias[member])
            if place < 2:
                hidden = functional.layer_norm(
                    hidden, hidden.shape[-1:], layer.ln.weight[member], layer.ln.bias[member]
                )
                hidden = ACTIVATIONS[activation][1](hidden)
        torch.testing.assert_close(outputs[member], hidden)


def test_nothing_drops_out_unless_it_is_asked_for():
    made = randomised(Ensemble(3, [5, 12, 12, 6], "mish")).train()
    seen = numbers(8, 5)
    assert torch.equal(made(seen), made(seen))
    torch.manual_seed(0)
    assert not torch.equal(made(seen, 0.5), made(seen, 0.5)) and not torch.equal(made(seen, 0.5), made(seen))
    assert torch.equal(made(seen, 0.0), made(seen))


def test_only_what_the_first_layer_makes_is_dropped():
    """A last layer of zeros keeps its bias; a first one wider than anything loses about its share, the rest doubled."""
    made = randomised(Ensemble(2, [1, 40_000, 1], "relu"))
    first, last = made.layers
    first.weight.zero_(), first.ln.weight.fill_(1), first.ln.bias.zero_(), last.bias.zero_()
    first.bias.fill_(3.0)
    last.weight.fill_(1 / 40_000)
    torch.manual_seed(0)
    # of kept (6) and dropped (0) halves the norm makes +1 and -1, and relu keeps the +1: a mean of a half
    torch.testing.assert_close(made(numbers(4, 1), 0.5), torch.full((2, 4, 1), 0.5).double(), rtol=0.03, atol=0)
    last.weight.zero_(), last.bias.fill_(5.0)
    assert torch.equal(made(numbers(4, 1), 0.5), torch.full((2, 4, 1), 5.0).double())


def test_networks_and_rows_drop_out_apart_from_each_other():
    made = randomised(Ensemble(2, [5, 30, 6], "mish"))
    for part in (*made.layers, made.layers[0].ln):
        part.weight[1], part.bias[1] = part.weight[0], part.bias[0]
    torch.manual_seed(0)
    outputs = made(numbers(1, 5).expand(2, 5), 0.5)
    assert not torch.equal(outputs[0], outputs[1]) and not torch.equal(outputs[:, 0], outputs[:, 1])


def test_an_ensemble_keeps_gradients_of_what_it_is_given():
    made = randomised(Ensemble(2, [3, 8, 8, 2], "mish"))
    assert torch.autograd.gradcheck(made, numbers(4, 3).requires_grad_())


def test_no_rows_are_no_outputs():
    assert randomised(Ensemble(2, [3, 8, 4], "mish"))(torch.zeros(0, 3).double()).shape == (2, 0, 4)


def test_later_layers_never_drop():
    """Where the first layer makes nothing there is nothing to drop."""
    made = randomised(Ensemble(2, [5, 30, 30, 6], "mish"))
    made.layers[0].weight.zero_(), made.layers[0].bias.zero_()
    assert torch.equal(made(numbers(4, 5), 0.5), made(numbers(4, 5), 0.5))
