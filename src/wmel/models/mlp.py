"""Small networks as world models: mlp predicts the next observation, latent-mlp the next latent and the reward."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from typing import Literal, cast

import torch
from torch import Tensor, nn

from wmel.contract.policy import Percept
from wmel.contract.world_model import WorldModelSpec
from wmel.errors import BadInput

ROW_MULTIPLE = 16  # in float32, torch computes a row bit-equal in all batches of a multiple of this size
ONE_THREAD = 32_768  # numbers that torch processes in one thread; several threads may change the last bit


def observations_tensor(percept: Percept, width: int, device: torch.device, name: str) -> Tensor:
    """The observations [B,O] of a percept as a tensor. Raises BadInput if their width is not that of the network."""
    observations = torch.as_tensor(percept.observation, dtype=torch.float32, device=device)
    if observations.ndim != 2 or observations.shape[1] != width:
        raise BadInput(f"{name} observes {width} numbers, got observations of shape {tuple(observations.shape)}")
    return observations


@dataclass(frozen=True)
class RowChunks:
    """Applies functions of a network in chunks of rows, padded to a multiple of ROW_MULTIPLE."""

    rows: int
    is_padded: bool

    @classmethod
    def of(cls, network: nn.Module) -> "RowChunks":
        """Chunks that fit the widest layer of a network. On a GPU there is one chunk."""
        weights = list(network.parameters())
        if weights[0].device.type != "cpu":
            return cls(1 << 30, is_padded=False)
        widest = max(values.shape[-2:][0] for values in weights)
        return cls(max(ROW_MULTIPLE, ONE_THREAD // widest // ROW_MULTIPLE * ROW_MULTIPLE), is_padded=True)

    def __call__(self, function: Callable[..., Tensor], *rows: Tensor, axis: int = 0) -> Tensor:
        """The function of rows [M,...]. `axis` is the axis of the rows in its result."""
        count = len(rows[0])
        missing = -count % ROW_MULTIPLE if self.is_padded else 0
        if missing:
            rows = tuple(torch.cat([one, one[-1:].expand(missing, *one.shape[1:])]) for one in rows)
        parts = [function(*part) for part in zip(*(one.split(self.rows) for one in rows), strict=True)]
        result = parts[0] if len(parts) == 1 else torch.cat(parts, axis)
        return result.narrow(axis, 0, count) if missing else result


def weights_hash(network: nn.Module) -> str:
    """The SHA-256 of the names, shapes and values of all weights, on any device."""
    digest = sha256()
    for name, values in sorted(network.state_dict().items()):
        digest.update(f"{name} {tuple(values.shape)} {values.dtype}".encode())
        digest.update(values.detach().cpu().numpy().tobytes())
    return digest.hexdigest()


ACTION_ROWS = 1024  # actions in one product of the first layer: the results of more do not fit the cache
outside_inference_mode = torch.inference_mode(False)  # cached tensors are also used for gradients


class MLP(nn.Module):
    """An MLP with ReLU that predicts the next observation or its change. Its buffers scale inputs and outputs."""

    seen_centre: Tensor
    seen_scale: Tensor
    made_centre: Tensor
    made_scale: Tensor

    def __init__(
        self,
        observation: int,
        action: int,
        hidden: tuple[int, ...] = (64, 64),
        target: Literal["next", "delta"] = "next",
        rounded: bool = False,
    ):
        super().__init__()
        self.observation, self.target, self.rounded = observation, target, rounded
        widths = (observation + action, *hidden, observation)
        self.layers = nn.Sequential(*(nn.Linear(*pair) for pair in pairwise(widths)))
        for name in ("seen", "made"):
            self.register_buffer(f"{name}_centre", torch.zeros(observation))
            self.register_buffer(f"{name}_scale", torch.ones(observation))

    def forward(self, observations: Tensor, actions: Tensor) -> Tensor:
        """observations [M,O], actions [M,A] -> the scaled output [M,O], which is compared with `scaled_targets`"""
        hidden = torch.cat([(observations - self.seen_centre) / self.seen_scale, actions], dim=1)
        *inner, last = self.layers
        for layer in inner:
            hidden = layer(hidden).relu()
        return last(hidden)

    def scaled_targets(self, observations: Tensor, next_observations: Tensor) -> Tensor:
        """The targets [M,O] of the scaled output."""
        targets = next_observations - observations if self.target == "delta" else next_observations
        return (targets - self.made_centre) / self.made_scale

    @outside_inference_mode
    def fold(self) -> "FoldedMLP":
        """The network for inference, with the scales folded into its first and last layer."""
        weights = [cast(nn.Linear, layer).weight.detach().T for layer in self.layers]
        biases = [cast(nn.Linear, layer).bias.detach() for layer in self.layers]
        of_observation = weights[0][: self.observation] / self.seen_scale[:, None]
        of_action = weights[0][self.observation :]
        weights[0] = torch.cat([of_observation, of_action])
        biases[0] = biases[0] - self.seen_centre @ of_observation
        weights[-1], biases[-1] = weights[-1] * self.made_scale, biases[-1] * self.made_scale + self.made_centre
        return FoldedMLP(list(zip(weights, biases, strict=True)), self.target == "delta", self.rounded)


@dataclass(frozen=True, eq=False)
class FoldedMLP:
    """An MLP as plain tensors, with one product per layer and step.

    The part of the first layer that depends on the action is computed for several steps at once.
    """

    layers: list[tuple[Tensor, Tensor]]  # weight [in,out] and bias [out]
    is_delta: bool  # whether the output is the change of the observation
    is_rounded: bool

    def step(self, observations: Tensor, actions: Tensor) -> Tensor:
        """observations [M,O], actions [M,A] -> next observations [M,O]"""
        return self._next(observations, self._action_terms(actions))

    def rollout(self, observations: Tensor, actions: Tensor) -> Tensor:
        """observations [M,O], actions [M,H,A] -> [M,H+1,O]"""
        trajectory = [observations]
        for steps in actions.transpose(0, 1).split(max(1, ACTION_ROWS // len(observations))):
            terms = self._action_terms(steps.reshape(-1, steps.shape[-1]))
            for step_terms in terms.reshape(*steps.shape[:2], -1):
                trajectory.append(self._next(trajectory[-1], step_terms))
        return torch.stack(trajectory).transpose(0, 1)

    @property
    def device(self) -> torch.device:
        return self.layers[0][1].device

    def _next(self, observations: Tensor, action_terms: Tensor) -> Tensor:
        """Next observations [M,O], given the terms [M,h] of the actions in the first layer."""
        add = torch.addmm if torch.is_grad_enabled() else Tensor.addmm_  # in place if no gradient is required
        hidden = add(action_terms, observations, self._observation_weights)
        for weight, bias in self.layers[1:]:
            hidden = torch.addmm(bias, hidden.relu_(), weight)
        after = observations + hidden if self.is_delta else hidden
        return after.round() if self.is_rounded else after

    def _action_terms(self, actions: Tensor) -> Tensor:
        """The terms [n,h] of actions [n,A] in the first layer. Integers [n,1] are indices of finite actions."""
        if not actions.is_floating_point():
            return self._action_table.index_select(0, actions.reshape(-1))
        bias = self.layers[0][1]
        return torch.addmm(bias, actions.to(bias.dtype), self._action_weights)

    @cached_property
    @outside_inference_mode
    def _observation_weights(self) -> Tensor:
        """The weights [O,h] of the observation in the first layer."""
        return self.layers[0][0][: self.layers[-1][1].shape[0]].contiguous()

    @cached_property
    @outside_inference_mode
    def _action_weights(self) -> Tensor:
        """The weights [A,h] of the action in the first layer."""
        return self.layers[0][0][self.layers[-1][1].shape[0] :].contiguous()

    @cached_property
    @outside_inference_mode
    def _action_table(self) -> Tensor:
        """The terms [n,h] of each finite action in the first layer."""
        return self._action_weights + self.layers[0][1]


@dataclass(frozen=True, eq=False)
class MLPModel:
    """The network as a world model, whose latents are observations."""

    network: MLP
    name: str = "mlp"
    action_input: Literal["index", "value"] = "value"

    @property
    def spec(self) -> WorldModelSpec:
        return WorldModelSpec(self.name, "observation", self.action_input, self._weights, ROW_MULTIPLE)

    def encode(self, percept: Percept, previous: Tensor | None) -> Tensor:
        return observations_tensor(percept, self.network.observation, self.folded.device, self.name)

    def step(self, latents: Tensor, actions: Tensor) -> Tensor:
        return self.folded.step(latents, actions)

    def decode(self, latents: Tensor) -> Tensor:
        return latents

    def rollout(self, latents: Tensor, actions: Tensor) -> Tensor:
        return self.folded.rollout(latents, actions)

    @cached_property
    def folded(self) -> FoldedMLP:
        return self.network.fold()

    @cached_property
    def _weights(self) -> str:
        return weights_hash(self.network)


class LatentMLP(nn.Module):
    """MLPs with SiLU. Buffers of the network scale observations and rewards, which are in their own units."""

    observation_centre: Tensor
    observation_scale: Tensor
    reward_centre: Tensor
    reward_scale: Tensor

    def __init__(self, observation: int, action: int, hidden: tuple[int, ...] = (64, 64), latent: int = 32):
        super().__init__()
        self.encoder = ResidualLinear(observation, hidden, latent)
        self.dynamics = mlp_layers(latent + action, hidden, latent)
        self.decoder = ResidualLinear(latent, hidden, observation)
        self.reward = mlp_layers(latent + action, hidden, 1)
        for name, shape in (("observation", (observation,)), ("reward", ())):
            self.register_buffer(f"{name}_centre", torch.zeros(shape))
            self.register_buffer(f"{name}_scale", torch.ones(shape))

    def encode(self, observations: Tensor) -> Tensor:
        """observations [...,O] -> latents [...,Z]"""
        return self.encoder((observations - self.observation_centre) / self.observation_scale)

    def step(self, latents: Tensor, actions: Tensor) -> Tensor:
        """latents [...,Z], actions [...,A] -> latents [...,Z]"""
        return latents + self.dynamics(torch.cat([latents, actions], dim=-1))

    def decode(self, latents: Tensor) -> Tensor:
        """latents [...,Z] -> observations [...,O]"""
        return self.decoder(latents) * self.observation_scale + self.observation_centre

    def rewards(self, latents: Tensor, actions: Tensor) -> Tensor:
        """latents [...,Z], actions taken in them [...,A] -> rewards [...]"""
        scaled = self.reward(torch.cat([latents, actions], dim=-1))[..., 0]
        return scaled * self.reward_scale + self.reward_centre


class ResidualLinear(nn.Module):
    """The sum of a linear map, initially the identity, and an MLP: a new decoder nearly inverts its encoder."""

    def __init__(self, inputs: int, hidden: tuple[int, ...], outputs: int):
        super().__init__()
        self.straight, self.layers = nn.Linear(inputs, outputs, bias=False), mlp_layers(inputs, hidden, outputs)
        nn.init.eye_(self.straight.weight)

    def forward(self, rows: Tensor) -> Tensor:
        """[...,inputs] -> [...,outputs]"""
        return self.straight(rows) + self.layers(rows)


def mlp_layers(inputs: int, hidden: tuple[int, ...], outputs: int) -> nn.Sequential:
    """An MLP with SiLU between its linear layers."""
    first, *rest = (nn.Linear(*pair) for pair in pairwise((inputs, *hidden, outputs)))
    return nn.Sequential(first, *(part for layer in rest for part in (nn.SiLU(), layer)))


@dataclass(frozen=True, eq=False)
class LatentMLPModel:
    """The network as a world model."""

    network: LatentMLP
    name: str = "latent-mlp"
    action_input: Literal["one_hot", "value"] = "value"

    @property
    def spec(self) -> WorldModelSpec:
        return WorldModelSpec(self.name, "observation", self.action_input, self._weights, ROW_MULTIPLE)

    def encode(self, percept: Percept, previous: Tensor | None) -> Tensor:
        observations = observations_tensor(percept, len(self.network.observation_scale), self._device, self.name)
        return self._in_chunks(self.network.encode, observations)

    def step(self, latents: Tensor, actions: Tensor) -> Tensor:
        return self._in_chunks(self.network.step, latents, actions.to(latents.dtype))

    def decode(self, latents: Tensor) -> Tensor:
        return self._in_chunks(self.network.decode, latents)

    def rewards(self, trajectory: Tensor, actions: Tensor) -> Tensor:
        """latents [M,H+1,Z], actions [M,H,A] -> rewards [M,H] of each latent and the action taken in it"""
        latents, by_step = trajectory[:, :-1].transpose(0, 1), actions.transpose(0, 1).to(trajectory.dtype)
        rewards = self._in_chunks(self.network.rewards, latents.flatten(0, 1), by_step.flatten(0, 1))
        return rewards.reshape(by_step.shape[:2]).T

    @cached_property
    def _in_chunks(self) -> RowChunks:
        return RowChunks.of(self.network)

    @property
    def _device(self) -> torch.device:
        return self.network.reward_scale.device

    @cached_property
    def _weights(self) -> str:
        return weights_hash(self.network)
