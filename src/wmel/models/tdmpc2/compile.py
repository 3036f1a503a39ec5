"""Compiled networks of TD-MPC2 for inference on a CPU. They equal torch's up to float32 rounding and are faster."""

from copy import deepcopy
from dataclasses import replace
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from wmel.models.compiled.forward import GROUP as SIMPLEX
from wmel.models.compiled.layers import CompiledLayers, Layer, Norm
from wmel.models.tdmpc2.layers import EPSILON, GROUP, Ensemble, NormedLinear, ParallelLinear

Network = TypeVar("Network", bound=nn.Module)
assert GROUP == SIMPLEX, "both implementations have the same simplex size"


class CompiledStack(nn.Module):
    """A compiled copy of layers: [...,I] -> [...,O]. Later changes of the weights have no effect."""

    def __init__(self, layers: list[Layer]):
        super().__init__()
        self.layers = CompiledLayers.of(layers)

    def forward(self, numbers: Tensor) -> Tensor:
        rows = numbers.reshape(-1, numbers.shape[-1]).numpy()
        return torch.from_numpy(self.layers(rows)).reshape(*numbers.shape[:-1], self.layers.outputs)

    def rollout(self, latents: Tensor, moves: Tensor) -> Tensor:
        """latents [M,Z], inputs beside them [M,H,...] -> [M,H+1,Z], with the steps as the slowest axis in memory"""
        trajectory = self.layers.rollout(latents.numpy(), moves.transpose(0, 1).numpy())
        return torch.from_numpy(trajectory).transpose(0, 1)


class CompiledEnsemble(nn.Module):
    """Several compiled networks with the same input: [...,I] -> [n,...,O]."""

    def __init__(self, networks: list[list[Layer]]):
        super().__init__()
        self.networks = nn.ModuleList(CompiledStack(layers) for layers in networks)

    def forward(self, numbers: Tensor, dropout: float = 0.0) -> Tensor:
        assert not dropout, "compiled networks are for inference only"
        return torch.stack([network(numbers) for network in self.networks])


def compile_network(network: Network) -> Network:
    """A copy of a network with compiled stacks and ensembles."""
    compiled: dict[int, nn.Module] = {}
    for part in network.modules():
        if isinstance(part, nn.Sequential):
            compiled[id(part)] = CompiledStack(_layers_of(part))
        elif isinstance(part, Ensemble):
            compiled[id(part)] = CompiledEnsemble([_layers_of_member(part, number) for number in range(part.count)])
    return deepcopy(network, compiled).requires_grad_(False)


def _layers_of(parts: nn.Sequential) -> list[Layer]:
    """The layers of a stack. A separate activation belongs to the layer before it."""
    layers: list[Layer] = []
    for part in parts:
        if isinstance(part, nn.SiLU):
            layers[-1] = replace(layers[-1], activation="silu")
            continue
        assert isinstance(part, nn.Linear)
        norm, last = (part.ln, part.last) if isinstance(part, NormedLinear) else (None, "identity")
        normed = Norm(_array(norm.weight), _array(norm.bias), norm.eps) if isinstance(norm, nn.LayerNorm) else None
        last = "simplex" if last == "simnorm" else last
        layers.append(Layer(_array(part.weight), _array(part.bias), normed, last))
    return layers


def _layers_of_member(networks: Ensemble, number: int) -> list[Layer]:
    """The layers of one network of an ensemble."""
    layers: list[Layer] = []
    for part in networks.layers:
        assert isinstance(part, ParallelLinear)
        ln = part.ln
        norm = None if ln is None else Norm(_array(ln.weight[number]), _array(ln.bias[number]), EPSILON)
        last = "identity" if part is networks.layers[-1] else networks.activation
        layers.append(Layer(_array(part.weight[number]), _array(part.bias[number]), norm, last))
    return layers


def _array(numbers: Tensor) -> np.ndarray:
    return numbers.detach().numpy()
