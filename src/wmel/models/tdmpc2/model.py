"""TD-MPC2 as a world model. It imagines in latent space, or decodes and encodes at every step."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import torch
from torch import Tensor, nn

from wmel.contract.policy import Percept
from wmel.contract.world_model import WorldModelSpec
from wmel.errors import requires_package
from wmel.models.imagine import rollout_by_steps
from wmel.models.mlp import ROW_MULTIPLE, RowChunks, observations_tensor, weights_hash
from wmel.models.tdmpc2.network import TDMPC2, two_hot_mean

DECODER_WIDTH = 256
WIDEST_COMPILED = 1024  # width of compiled layers; torch uses several threads for wider ones

Rollout = Literal["latent", "decoded"]


class TDMPC2WithDecoder(nn.Module):
    """The networks of TD-MPC2 and a decoder from latents to observations, which is trained after them."""

    low: Tensor  # bounds of the actions in their own units
    high: Tensor
    discount: Tensor

    def __init__(self, agent: TDMPC2, low: Tensor, high: Tensor, discount: float = 0.99):
        super().__init__()
        self.agent, latent = agent, agent.shape.latent
        self.decoder = nn.Sequential(
            nn.Linear(latent, DECODER_WIDTH), nn.SiLU(), nn.Linear(DECODER_WIDTH, DECODER_WIDTH), nn.SiLU(),
            nn.Linear(DECODER_WIDTH, agent.observation),
        )  # fmt: skip
        self.register_buffer("low", low)
        self.register_buffer("high", high)
        self.register_buffer("discount", torch.tensor(discount))

    def scale_actions(self, actions: Tensor) -> Tensor:
        """Actions in their own units -> actions in [-1, 1], the input of the networks."""
        return 2 * (actions.to(self.low.dtype) - self.low) / (self.high - self.low) - 1

    def unscale_actions(self, actions: Tensor) -> Tensor:
        """Actions in [-1, 1] -> actions in their own units."""
        return self.low + (actions + 1) / 2 * (self.high - self.low)


@dataclass(frozen=True, eq=False)
class TDMPC2Model:
    """The rollout method `latent` imagines in latent space and decodes the result for the objective.

    The method `decoded` encodes, steps and decodes an observation at every step, as in the wmel 0.18 repository.
    """

    network: TDMPC2WithDecoder
    rollout_way: Rollout = "latent"
    name: str = "tdmpc2"

    @property
    def spec(self) -> WorldModelSpec:
        name = f"{self.name}-decoded" if self._decodes else self.name
        return WorldModelSpec(name, "observation", "value", self._weights, 1 if self._is_compilable else ROW_MULTIPLE)

    def encode(self, percept: Percept, previous: Tensor | None) -> Tensor:
        low = self.network.low
        observations = observations_tensor(percept, self.agent.observation, low.device, self.name).to(low.dtype)
        return observations if self._decodes else self._apply(_encode, observations)

    def step(self, latents: Tensor, actions: Tensor) -> Tensor:
        return self._step_scaled(latents, self.network.scale_actions(actions))

    def rollout(self, latents: Tensor, actions: Tensor) -> Tensor:
        """latents [M,Z], actions [M,H,A] -> latents [M,H+1,Z] including the start"""
        scaled = self.network.scale_actions(actions)
        if self._decodes or not self._uses_compiled(latents, scaled):
            return rollout_by_steps(self._step_scaled, latents, scaled)
        roll: Callable[..., Tensor] = self._compiled.agent.dynamics.rollout  # pyright: ignore[reportAssignmentType]
        return roll(latents, self.agent.action_inputs(scaled))

    def decode(self, latents: Tensor) -> Tensor:
        return latents if self._decodes else self._apply(_decode, latents)

    def rewards(self, trajectory: Tensor, actions: Tensor) -> Tensor:
        """latents [M,H+1,Z], actions [M,H,A] -> rewards [M,H] of each latent and the action taken in it"""
        latents, scaled = trajectory[:, :-1].transpose(0, 1), self.network.scale_actions(actions).transpose(0, 1)
        rewards = self._apply(_predict_rewards, self._latents(latents.flatten(0, 1)), scaled.flatten(0, 1))
        return rewards.reshape(scaled.shape[:2]).T

    def values(self, latents: Tensor) -> Tensor:
        """latents [M,Z] -> the mean of the critics for the policy's mean action [M]"""
        first, *others = self.action_values(latents, self.policy(latents, None))
        return sum(others, first) / (1 + len(others))  # `mean` would add in an order that depends on the batch

    def policy(self, latents: Tensor, noise: Tensor | None) -> Tensor:
        """latents [M,Z], standard normals [M,A] or None for the mean -> actions in their own units [M,A]"""
        noise = self.network.low.new_zeros(len(latents), self.agent.action) if noise is None else noise
        return self._apply(_sample_actions, self._latents(latents), noise)

    def action_values(self, latents: Tensor, actions: Tensor) -> Tensor:
        """latents [M,Z], actions [M,A] -> values by critic [n,M]"""
        return self._apply(_predict_values, self._latents(latents), self.network.scale_actions(actions), axis=1)

    def discount(self) -> float:
        return float(self.network.discount)

    @property
    def agent(self) -> TDMPC2:
        return self.network.agent

    @property
    def _decodes(self) -> bool:
        return self.rollout_way == "decoded"

    def _latents(self, numbers: Tensor) -> Tensor:
        return self._apply(_encode, numbers) if self._decodes else numbers

    def _step_scaled(self, latents: Tensor, scaled: Tensor) -> Tensor:
        after = self._apply(_step, self._latents(latents), scaled)
        return self._apply(_decode, after) if self._decodes else after

    def _apply(self, function: Callable[..., Tensor], *rows: Tensor, axis: int = 0) -> Tensor:
        """A function of the compiled networks, or of torch's in chunks. Neither depends on the batch."""
        if self._uses_compiled(*rows):
            return function(self._compiled, *rows)
        return self._in_chunks(partial(function, self.network), *rows, axis=axis)

    def _uses_compiled(self, *rows: Tensor) -> bool:
        """Whether the compiled networks can be used: on a CPU, if no gradient is required."""
        if torch.is_grad_enabled() and any(one.requires_grad for one in (*rows, *self._parameters)):
            return False
        return self._is_compilable

    @property
    def _is_compilable(self) -> bool:
        low = self.network.low
        return self._is_narrow and low.device.type == "cpu" and low.dtype == torch.float32

    @cached_property
    def _is_narrow(self) -> bool:
        shape = self.agent.shape
        return max(shape.encoder, shape.hidden, shape.latent) <= WIDEST_COMPILED

    @property
    def _compiled(self) -> TDMPC2WithDecoder:
        """The compiled networks, with the current task."""
        network, task = self._compiled_network, self.agent.task
        if network.agent.task != task:
            network.agent.task = task
        return network

    @cached_property
    def _compiled_network(self) -> TDMPC2WithDecoder:
        with requires_package("numba", "tdmpc2 on a CPU requires numba: install wmel[learned]"):
            from wmel.models.compiled.tdmpc2 import compile_network
        with torch.inference_mode(False):
            return compile_network(self.network)

    @cached_property
    def _parameters(self) -> list[nn.Parameter]:
        return list(self.network.parameters())

    @cached_property
    def _in_chunks(self) -> RowChunks:
        return RowChunks.of(self.network)

    @cached_property
    def _weights(self) -> str:
        return weights_hash(self.network)


def _encode(network: TDMPC2WithDecoder, observations: Tensor) -> Tensor:
    return network.agent.encode(observations)


def _step(network: TDMPC2WithDecoder, latents: Tensor, scaled: Tensor) -> Tensor:
    return network.agent.next(latents, scaled)


def _decode(network: TDMPC2WithDecoder, latents: Tensor) -> Tensor:
    return network.decoder(latents)


def _predict_rewards(network: TDMPC2WithDecoder, latents: Tensor, scaled: Tensor) -> Tensor:
    return two_hot_mean(network.agent.reward_logits(latents, scaled))


def _sample_actions(network: TDMPC2WithDecoder, latents: Tensor, noise: Tensor) -> Tensor:
    mean, log_deviation = network.agent.policy_distribution(latents)
    return network.unscale_actions((mean + noise * log_deviation.exp()).tanh())


def _predict_values(network: TDMPC2WithDecoder, latents: Tensor, scaled: Tensor) -> Tensor:
    return two_hot_mean(network.agent.value_logits(latents, scaled))
