"""latent-mlp: small networks for the encoder, the latent dynamics, the decoder and the reward."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn

from wmel.contract.policy import Percept
from wmel.contract.world_model import WorldModelSpec
from wmel.models.networks import ROW_MULTIPLE, RowChunks, observations_tensor, weights_hash


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
