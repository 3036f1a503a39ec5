"""Compiled networks of TD-MPC2 for inference on a CPU. They equal torch's up to float32 rounding and are faster."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from wmel.errors import BadInput, require
from wmel.models.compiled.forward import (
    ACTIVATIONS,
    GROUP,
    INPUTS,
    OUTPUTS,
    TALL,
    TILE_COLUMNS,
    WIDTH,
    Network,
    apply,
    pack_weights,
    roll,
)
from wmel.models.tdmpc2.network import EPSILON, Ensemble, NormedLinear, ParallelLinear
from wmel.models.tdmpc2.network import GROUP as TORCH_GROUP

ROWS_PER_CHUNK = 96  # whose layer outputs fit the second-level cache of a core


@dataclass(frozen=True, eq=False)
class Norm:
    gain: np.ndarray  # [O]
    shift: np.ndarray  # [O]
    epsilon: float


@dataclass(frozen=True, eq=False)
class Layer:
    weight: np.ndarray  # [O,I]
    bias: np.ndarray  # [O]
    norm: Norm | None
    activation: str


@dataclass(frozen=True, eq=False)
class CompiledLayers:
    """Maps float32 rows [M,I] -> [M,O]. The result of a row does not depend on the other rows, bit for bit."""

    network: Network

    @classmethod
    def of(cls, layers: Sequence[Layer]) -> "CompiledLayers":
        _check(layers)
        plans, numbers, place = [], [], 0
        for layer in layers:
            outputs, inputs = layer.weight.shape
            width = -(-outputs // TILE_COLUMNS) * TILE_COLUMNS
            bias = np.zeros(width, np.float32)
            bias[:outputs] = layer.bias
            parts = [pack_weights(layer.weight).ravel(), bias]
            parts += [] if layer.norm is None else [layer.norm.gain, layer.norm.shift]
            weights, biases, norm = place, place + len(parts[0]), place + len(parts[0]) + width
            activation = ACTIVATIONS.index(layer.activation)
            plans.append([inputs, outputs, width, weights, biases, -1 if layer.norm is None else norm, activation])
            numbers, place = [*numbers, *parts], place + sum(map(len, parts))
        epsilons = np.array([0 if layer.norm is None else layer.norm.epsilon for layer in layers], np.float32)
        together = np.concatenate(numbers).astype(np.float32, copy=False)
        return cls(Network(np.array(plans, np.int64), together, epsilons))

    @cached_property
    def inputs(self) -> int:
        return int(self.network.plans[0, INPUTS])

    @cached_property
    def outputs(self) -> int:
        return int(self.network.plans[-1, OUTPUTS])

    @cached_property
    def widest(self) -> int:
        return int(self.network.plans[:, [INPUTS, WIDTH]].max())

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        if rows.ndim != 2 or rows.shape[1] != self.inputs or rows.dtype != np.float32:
            raise BadInput(f"rows must be float32 with {self.inputs} columns, got {rows.dtype} of shape {rows.shape}")
        rows, out = np.ascontiguousarray(rows), np.empty((len(rows), self.outputs), np.float32)
        for part, memory in self._parts(len(rows)):
            apply(self.network, rows, part, memory, out)
        return out

    def rollout(self, start: np.ndarray, moves: np.ndarray) -> np.ndarray:
        """start [M,O], moves [H,M,A] -> [H+1,M,O]. The input of each step is the last output and the moves."""
        fits = moves.ndim == 3 and start.shape == (moves.shape[1], self.outputs)
        if not fits or start.shape[1] + moves.shape[2] != self.inputs:
            expected = f"a rollout requires starts of {self.outputs} and moves of {self.inputs - self.outputs} numbers"
            raise BadInput(f"{expected}, got {start.shape} and {moves.shape}")
        moves, trajectory = (
            np.ascontiguousarray(moves, np.float32),
            np.empty((len(moves) + 1, *start.shape), np.float32),
        )
        trajectory[0] = start
        for part, memory in self._parts(len(start)):
            roll(self.network, moves, part, memory, trajectory)
        return trajectory

    def _parts(self, rows: int) -> Iterator[tuple[tuple[int, int], tuple[np.ndarray, np.ndarray]]]:
        """The first row and the number of rows of each part, and two buffers for the outputs of layers."""
        if rows:
            parts = -(-rows // ROWS_PER_CHUNK)
            most = -(-rows // (parts * TALL)) * TALL
            memory = np.empty(most * self.widest, np.float32), np.empty(most * self.widest, np.float32)
            for first in range(0, rows, most):
                yield (first, min(most, rows - first)), memory


def _check(layers: Sequence[Layer]) -> None:
    """Raises BadInput for sizes with which the compiled code would access memory outside its arrays."""
    require(len(layers) > 0, "at least one layer is required", len(layers))
    for layer in layers:
        outputs, inputs = layer.weight.shape
        require(outputs > 0 and inputs > 0, "a layer requires inputs and outputs", layer.weight.shape)
        vectors = [layer.bias] + ([] if layer.norm is None else [layer.norm.gain, layer.norm.shift])
        for numbers in vectors:
            require(numbers.shape == (outputs,), f"biases, gains and shifts must have {outputs} numbers", numbers.shape)
        require(layer.activation in ACTIVATIONS, f"activation must be one of {ACTIVATIONS}", layer.activation)
        is_divisible = layer.activation != "simplex" or outputs % GROUP == 0
        require(is_divisible, f"the outputs of a simplex must be a multiple of {GROUP}", outputs)
    for before, after in pairwise(layers):
        outputs, inputs = len(before.weight), after.weight.shape[1]
        require(outputs == inputs, f"a layer after {outputs} outputs must have as many inputs", inputs)


NetworkType = TypeVar("NetworkType", bound=nn.Module)
assert GROUP == TORCH_GROUP, "both implementations have the same simplex size"


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


def compile_network(network: NetworkType) -> NetworkType:
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
