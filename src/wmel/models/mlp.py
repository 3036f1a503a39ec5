"""mlp: a small network from observation and action to the next observation."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, cast

import torch
from torch import Tensor, nn

from wmel.contract.policy import Percept
from wmel.contract.world_model import WorldModelSpec
from wmel.models.networks import ROWS_AT_ONCE, observed, weights_hash

ROWS_AHEAD = 1024  # actions the first layer is given at a time: more leave the cache before they are used
ordinary = torch.inference_mode(False)  # what is kept serves gradients too, in whatever mode it is first asked for


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

    @ordinary
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
    """Plain tensors: a step is as many products as there are layers.

    What the first layer makes of an action does not depend on the observation and is worked out ahead.
    """

    layers: list[tuple[Tensor, Tensor]]  # weight [in,out] and bias [out]
    adds: bool  # to the observation, which changes
    rounds: bool

    def step(self, observations: Tensor, actions: Tensor) -> Tensor:
        """observations [M,O], actions [M,A] -> next observations [M,O]"""
        return self._after(observations, self._acted(actions))

    def rollout(self, observations: Tensor, actions: Tensor) -> Tensor:
        """observations [M,O], actions [M,H,A] -> [M,H+1,O]"""
        trajectory = [observations]
        for steps in actions.transpose(0, 1).split(max(1, ROWS_AHEAD // len(observations))):
            acted = self._acted(steps.reshape(-1, steps.shape[-1]))
            for acted_now in acted.reshape(*steps.shape[:2], -1):
                trajectory.append(self._after(trajectory[-1], acted_now))
        return torch.stack(trajectory).transpose(0, 1)

    @property
    def device_of(self) -> Tensor:
        """A tensor that is where the network is."""
        return self.layers[0][1]

    def _after(self, observations: Tensor, acted: Tensor) -> Tensor:
        """Next observations [M,O], of what the action adds to the first layer [M,h]."""
        add = torch.addmm if torch.is_grad_enabled() else Tensor.addmm_  # in place where nobody will ask for gradients
        hidden = add(acted, observations, self._seeing)
        for weight, bias in self.layers[1:]:
            hidden = torch.addmm(bias, hidden.relu_(), weight)
        after = observations + hidden if self.adds else hidden
        return after.round() if self.rounds else after

    def _acted(self, actions: Tensor) -> Tensor:
        """What actions [n,A] add to the first layer [n,h]: whole numbers [n,1] pick a row."""
        if not actions.is_floating_point():
            return self._choices.index_select(0, actions.reshape(-1))
        return torch.addmm(self.layers[0][1], actions.to(self.device_of.dtype), self._acting)

    @cached_property
    @ordinary
    def _seeing(self) -> Tensor:
        """The first layer's weights of the observation [O,h]"""
        return self.layers[0][0][: self.layers[-1][1].shape[0]].contiguous()

    @cached_property
    @ordinary
    def _acting(self) -> Tensor:
        """The first layer's weights of the action [A,h]"""
        return self.layers[0][0][self.layers[-1][1].shape[0] :].contiguous()

    @cached_property
    @ordinary
    def _choices(self) -> Tensor:
        """What each of finite actions adds to the first layer [n,h]"""
        return self._acting + self.layers[0][1]


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
        return observed(percept, self.network.observation, self.folded.device_of.device, self.name)

    def step(self, latents: Tensor, actions: Tensor) -> Tensor:
        return self.folded.step(latents, actions)

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
