"""mlp: a small network from observation and action to the next observation."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, cast

import torch
from torch import Tensor, nn

from wmel.contract.policy import Percept
from wmel.contract.world_model import WorldModelSpec
from wmel.models.weights import weights_hash

ROWS_AT_ONCE = 16  # torch float32 gives a row the same bits in any batch of a multiple of this


class MLP(nn.Module):
    """ReLU layers between scales that belong to the network; the output is the next observation, or its change."""

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
        """The scaled output [M,O] that is fitted, of observations [M,O] and actions [M,A]."""
        hidden = torch.cat([(observations - self.seen_centre) / self.seen_scale, actions], dim=1)
        *inner, last = self.layers
        for layer in inner:
            hidden = layer(hidden).relu()
        return last(hidden)

    def wanted(self, observations: Tensor, next_observations: Tensor) -> Tensor:
        """What the output should be [M,O]"""
        made = next_observations - observations if self.target == "delta" else next_observations
        return (made - self.made_centre) / self.made_scale

    def folded(self) -> "FoldedMLP":
        """The network for use: scales are part of its first and last layer, and nothing is left to be learned."""
        weights = [cast(nn.Linear, layer).weight.detach().T for layer in self.layers]
        biases = [cast(nn.Linear, layer).bias.detach() for layer in self.layers]
        seen, acted = weights[0][: self.observation] / self.seen_scale[:, None], weights[0][self.observation :]
        weights[0], biases[0] = torch.cat([seen, acted]), biases[0] - self.seen_centre @ seen
        weights[-1], biases[-1] = weights[-1] * self.made_scale, biases[-1] * self.made_scale + self.made_centre
        return FoldedMLP(list(zip(weights, biases, strict=True)), self.target == "delta", self.rounded)


@dataclass(frozen=True, eq=False)
class FoldedMLP:
    """Plain tensors: a step is as many products as there are layers."""

    layers: list[tuple[Tensor, Tensor]]  # weight [in,out] and bias [out]
    adds: bool  # to the observation, which changes
    rounds: bool

    def step(self, observations: Tensor, acted: Tensor) -> Tensor:
        """observations [M,O] and actions as the first layer takes them [M,A] -> next observations [M,O]"""
        hidden = torch.cat([observations, acted], 1)
        *inner, (weight, bias) = self.layers
        for inner_weight, inner_bias in inner:
            hidden = torch.addmm(inner_bias, hidden, inner_weight).relu_()
        made = torch.addmm(bias, hidden, weight)
        after = observations + made if self.adds else made
        return after.round() if self.rounds else after

    def acted(self, actions: Tensor) -> Tensor:
        """Actions [...,A] for the first layer: whole numbers [...,1] become one-hot, others stay what they are."""
        if actions.is_floating_point():
            return actions.to(self.device_of.dtype)
        chosen = self._choices.index_select(0, actions.reshape(-1))
        return chosen.reshape(*actions.shape[:-1], chosen.shape[1])

    def rollout(self, observations: Tensor, actions: Tensor) -> Tensor:
        """observations [M,O], actions [M,H,A] -> [M,H+1,O]"""
        trajectory = [observations]
        for acted in self.acted(actions.transpose(0, 1)):
            trajectory.append(self.step(trajectory[-1], acted))
        return torch.stack(trajectory).transpose(0, 1)

    @property
    def device_of(self) -> Tensor:
        """A tensor that is where the network is."""
        return self.layers[0][1]

    @cached_property
    def _choices(self) -> Tensor:
        """The rows of an identity: one-hot actions."""
        inputs, outputs = self.layers[0][0].shape[0], self.layers[-1][1].shape[0]
        return torch.eye(inputs - outputs, dtype=self.device_of.dtype, device=self.device_of.device)


@dataclass(frozen=True, eq=False)
class MLPModel:
    """The network behind the model contract: a latent is an observation."""

    network: MLP
    name: str = "mlp"
    action_input: Literal["index", "value"] = "value"

    @property
    def spec(self) -> WorldModelSpec:
        return WorldModelSpec(self.name, "observation", self.action_input, self._weights, ROWS_AT_ONCE)

    def encode(self, percept: Percept, previous: Tensor | None) -> Tensor:
        return torch.as_tensor(percept.observation, dtype=torch.float32, device=self.folded.device_of.device)

    def step(self, latents: Tensor, actions: Tensor) -> Tensor:
        return self.folded.step(latents, self.folded.acted(actions))

    def decode(self, latents: Tensor) -> Tensor:
        return latents

    def rollout(self, latents: Tensor, actions: Tensor) -> Tensor:
        return self.folded.rollout(latents, actions)

    @cached_property
    def folded(self) -> FoldedMLP:
        return self.network.folded()

    @cached_property
    def _weights(self) -> str:
        return weights_hash(self.network)
