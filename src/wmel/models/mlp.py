"""mlp: a small network that predicts the next observation from the observation and the action."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, cast

import torch
from torch import Tensor, nn

from wmel.contract.policy import Percept
from wmel.contract.world_model import WorldModelSpec
from wmel.models.networks import ROW_MULTIPLE, observations_tensor, weights_hash

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
