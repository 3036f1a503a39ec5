"""The formulas of TD-MPC2 a second time, in numpy and float64, and networks with weights worth testing."""

from collections.abc import Mapping

import numpy as np
import torch

from wmel.models.tdmpc2.network import TDMPC2, NetworkShape, Tasks

SMALL = NetworkShape(encoder=16, hidden=24, latent=16, encoder_layers=2, critics=3)


def random_network(
    observation: int = 5,
    action: int = 2,
    shape: NetworkShape = SMALL,
    seed: int = 0,
    tasks: Tasks | None = None,
    **settings,
) -> TDMPC2:
    """Every weight drawn, zeros and ones of the start among them."""
    generator = torch.Generator().manual_seed(seed)
    made = TDMPC2(observation, action, shape, tasks=tasks, **settings).requires_grad_(False)
    for name, weight in made.named_parameters():
        fan = weight.shape[-1] if weight.ndim > 1 and ".ln." not in name else 4
        weight.copy_(torch.randn(weight.shape, generator=generator) * fan**-0.5 + (name.endswith("ln.weight")))
    return made.eval()


def mish(numbers: np.ndarray) -> np.ndarray:
    return numbers * np.tanh(np.log1p(np.exp(numbers)))


def relu(numbers: np.ndarray) -> np.ndarray:
    return np.where(numbers > 0, numbers, 0)


def simplices(numbers: np.ndarray) -> np.ndarray:
    """Softmax of every eight numbers, one group after the other."""
    groups = [numbers[..., place : place + 8] for place in range(0, numbers.shape[-1], 8)]
    powers = [np.exp(group - group.max(-1, keepdims=True)) for group in groups]
    return np.concatenate([power / power.sum(-1, keepdims=True) for power in powers], -1)


def layer_norm(numbers: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    centred = numbers - numbers.mean(-1, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(-1, keepdims=True) + 1e-5) * weight + bias


def layers(weights: Mapping[str, np.ndarray], inputs: np.ndarray, between=mish, last=None) -> np.ndarray:
    """Layers `0.weight, 0.bias, 0.ln.weight, ...` one after the other; the last without `between`."""
    count = 1 + max(int(name.split(".")[0]) for name in weights)
    hidden = inputs
    for place in range(count):
        hidden = hidden @ weights[f"{place}.weight"].T + weights[f"{place}.bias"]
        if f"{place}.ln.weight" in weights:
            hidden = layer_norm(hidden, weights[f"{place}.ln.weight"], weights[f"{place}.ln.bias"])
        hidden = between(hidden) if place < count - 1 else hidden
    return hidden if last is None else last(hidden)


def under(weights: Mapping[str, torch.Tensor], prefix: str, member: int | None = None) -> dict[str, np.ndarray]:
    """The weights whose names begin so, without the beginning; of one network of an ensemble."""
    found = {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
    return {name: (value if member is None else value[member]).double().numpy() for name, value in found.items()}


def meant(logits: np.ndarray) -> np.ndarray:
    """The number 101 logits mean."""
    shares = np.exp(logits - logits.max(-1, keepdims=True))
    place = (shares / shares.sum(-1, keepdims=True)) @ np.array([-10 + 0.2 * bin for bin in range(101)])
    return np.sign(place) * (np.exp(np.abs(place)) - 1)
