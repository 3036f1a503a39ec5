"""Layers of TD-MPC2, and its two-hot coding of rewards and values."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

BINS, LOWEST, HIGHEST = 101, -10.0, 10.0
WIDTH = (HIGHEST - LOWEST) / (BINS - 1)
GROUP = 8  # numbers of a simplex
EPSILON = 1e-5  # added to variances
Activation = Literal["mish", "relu"]
LatentNorm = Literal["simnorm", "layernorm", "none"]


def symlog(numbers: Tensor) -> Tensor:
    return numbers.sign() * numbers.abs().log1p()


def symexp(numbers: Tensor) -> Tensor:
    return numbers.sign() * numbers.abs().expm1()


def two_hot(numbers: Tensor) -> Tensor:
    """Weights on the two bins around symlog of each number: [...] -> [...,101]"""
    place = ((symlog(numbers).clamp(LOWEST, HIGHEST) - LOWEST) / WIDTH)[..., None]
    bins = torch.arange(BINS, device=numbers.device, dtype=numbers.dtype)
    return (1 - (place - bins).abs()).clamp_min(0)


def expected(logits: Tensor) -> Tensor:
    """The number a distribution means: [...,101] -> [...]"""
    bins = torch.linspace(LOWEST, HIGHEST, BINS, device=logits.device, dtype=logits.dtype)
    return symexp((logits.softmax(-1) * bins).sum(-1))


def surprise(logits: Tensor, numbers: Tensor) -> Tensor:
    """Cross-entropy of numbers [...] under logits [...,101]: [...]"""
    return -(two_hot(numbers) * functional.log_softmax(logits, -1)).sum(-1)


def simnorm(numbers: Tensor) -> Tensor:
    """Softmax within groups of 8 of the last axis: [...,Z] -> [...,Z]"""
    return numbers.unflatten(-1, (-1, GROUP)).softmax(-1).flatten(-2)


class NormedLinear(nn.Linear):
    """Linear, layer norm, then an activation: mish, relu, simnorm, or none."""

    def __init__(self, inputs: int, outputs: int, last: str = "mish", normed: bool = True):
        super().__init__(inputs, outputs)
        self.ln = nn.LayerNorm(outputs) if normed else nn.Identity()
        self.last = last

    def forward(self, input: Tensor) -> Tensor:
        return activated(self.ln(super().forward(input)), self.last)


def activated(numbers: Tensor, name: str) -> Tensor:
    """mish, relu, simnorm, or the numbers as they are."""
    if name == "mish":
        return functional.mish(numbers) if numbers.requires_grad or numbers.device.type != "cpu" else _mish(numbers)
    if name == "relu":
        return numbers.relu()
    return simnorm(numbers) if name == "simnorm" else numbers


def _mish(numbers: Tensor) -> Tensor:
    """x tanh(log(1 + e^x)) as x / (1 + 1 / (e^x + e^2x / 2)): a third of the time torch takes on a CPU."""
    grown = numbers.exp()
    return numbers / (1 + torch.addcmul(grown, grown, grown, value=0.5).reciprocal())


def stack(widths: Sequence[int], activation: Activation, end: LatentNorm | None = None) -> nn.Sequential:
    """Normed layers through all widths; the last is a plain linear map, or ends in a norm of latents."""
    *inner, last = pairwise(widths)
    layers: list[nn.Module] = [NormedLinear(*pair, activation) for pair in inner]
    if end is None or end == "none":
        layers.append(nn.Linear(*last))
    else:
        layers.append(NormedLinear(*last, "simnorm" if end == "simnorm" else "identity"))
    return nn.Sequential(*layers)


class Ensemble(nn.Module):
    """Networks of one shape side by side: inputs [...,I] -> outputs [n,...,O]."""

    def __init__(self, count: int, widths: Sequence[int], activation: Activation):
        super().__init__()
        self.count, self.outputs, self.activation = count, widths[-1], activation
        self.layers = nn.ModuleList(
            Parallel(count, *pair, normed=place < len(widths) - 2) for place, pair in enumerate(pairwise(widths))
        )

    def forward(self, inputs: Tensor, dropout: float = 0.0) -> Tensor:
        """`dropout` is the share of what the first layer makes that is dropped, for learning."""
        flat = inputs.reshape(inputs.shape[:-1].numel(), inputs.shape[-1])
        hidden = flat.expand(self.count, *flat.shape)
        for place, layer in enumerate(self.layers):
            hidden = layer(hidden, dropout if place == 0 else 0.0)
            hidden = self._activated(hidden) if place < len(self.layers) - 1 else hidden
        return hidden.reshape(self.count, *inputs.shape[:-1], self.outputs)

    def _activated(self, hidden: Tensor) -> Tensor:
        if hidden.device.type != "cpu":
            return activated(hidden, self.activation)
        # network by network: all of them are so many numbers that torch would share them among threads
        return torch.stack([activated(one, self.activation) for one in hidden])


class TaskEmbedding(nn.Embedding):
    """A vector for each task, no longer than 1; what is stored may be longer and stays as it is."""

    def forward(self, input: Tensor) -> Tensor:
        stored = super().forward(input)
        return stored / stored.norm(dim=-1, keepdim=True).clamp_min(1)


class Parallel(nn.Module):
    """As many linear maps as there are networks, each perhaps layer-normed."""

    def __init__(self, count: int, inputs: int, outputs: int, *, normed: bool):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(count, outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(count, outputs))
        self.ln = ParallelNorm(count, outputs) if normed else None

    def forward(self, inputs: Tensor, dropout: float) -> Tensor:
        made = torch.baddbmm(self.bias[:, None], inputs, self.weight.transpose(1, 2))
        made = functional.dropout(made, dropout) if dropout else made
        return made if self.ln is None else self.ln(made)


class ParallelNorm(nn.Module):
    def __init__(self, count: int, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(count, width))
        self.bias = nn.Parameter(torch.zeros(count, width))

    def forward(self, inputs: Tensor) -> Tensor:
        return functional.layer_norm(inputs, inputs.shape[-1:], eps=EPSILON) * self.weight[:, None] + self.bias[:, None]
