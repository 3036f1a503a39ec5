"""TD-MPC2 behind the model contract: in latent space, or through the decoder at every step."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import torch
from torch import Tensor, nn

from wmel.contract.policy import Percept
from wmel.contract.world_model import WorldModelSpec
from wmel.errors import requires_package
from wmel.models.imagine import step_by_step
from wmel.models.networks import ROWS_AT_ONCE, InParts, observed, weights_hash
from wmel.models.tdmpc2.layers import expected
from wmel.models.tdmpc2.network import TDMPC2

DECODER = 256
WIDEST = 1024  # layers that are compiled; torch may share wider ones among threads

Rollout = Literal["latent", "decoded"]


class Decoded(nn.Module):
    """The networks, and a decoder from latents to observations learned after them."""

    low: Tensor
    high: Tensor
    discount: Tensor  # of its values

    def __init__(self, agent: TDMPC2, low: Tensor, high: Tensor, discount: float = 0.99):
        super().__init__()
        self.agent, latent = agent, agent.shape.latent
        self.decoder = nn.Sequential(
            nn.Linear(latent, DECODER), nn.SiLU(), nn.Linear(DECODER, DECODER), nn.SiLU(),
            nn.Linear(DECODER, agent.observation),
        )  # fmt: skip
        self.register_buffer("low", low)
        self.register_buffer("high", high)
        self.register_buffer("discount", torch.tensor(discount))

    def scaled(self, actions: Tensor) -> Tensor:
        """Actions in their own units as the networks take them, -1 to 1."""
        return 2 * (actions.to(self.low.dtype) - self.low) / (self.high - self.low) - 1

    def unscaled(self, actions: Tensor) -> Tensor:
        """Actions from -1 to 1 in their own units."""
        return self.low + (actions + 1) / 2 * (self.high - self.low)


@dataclass(frozen=True, eq=False)
class TDMPC2Model:
    """`latent` imagines in latent space and decodes only what is scored.

    `decoded` is the documents' way: an observation is encoded, moved and decoded at every step.
    """

    network: Decoded
    rollout_way: Rollout = "latent"
    name: str = "tdmpc2"

    @property
    def spec(self) -> WorldModelSpec:
        name = f"{self.name}-decoded" if self._decodes else self.name
        return WorldModelSpec(name, "observation", "value", self._weights, 1 if self._compiles else ROWS_AT_ONCE)

    def encode(self, percept: Percept, previous: Tensor | None) -> Tensor:
        low = self.network.low
        observations = observed(percept, self.agent.observation, low.device, self.name).to(low.dtype)
        return observations if self._decodes else self._made(_encoded, observations)

    def step(self, latents: Tensor, actions: Tensor) -> Tensor:
        return self._stepped(latents, self.network.scaled(actions))

    def rollout(self, latents: Tensor, actions: Tensor) -> Tensor:
        """As step by step, actions scaled all at once."""
        scaled = self.network.scaled(actions)
        if self._decodes or not self._only_values(latents, scaled):
            return step_by_step(self._stepped, latents, scaled)
        roll: Callable[..., Tensor] = self._compiled.agent.dynamics.rollout  # pyright: ignore[reportAssignmentType]
        return roll(latents, self.agent.moves(scaled))

    def decode(self, latents: Tensor) -> Tensor:
        return latents if self._decodes else self._made(_decoded, latents)

    def rewards(self, trajectory: Tensor, actions: Tensor) -> Tensor:
        """latents [M,H+1,Z], actions [M,H,A] -> [M,H], each of the latent its action was taken in."""
        latents, acted = trajectory[:, :-1].transpose(0, 1), self.network.scaled(actions).transpose(0, 1)
        rewards = self._made(_rewarded, self._latents(latents.flatten(0, 1)), acted.flatten(0, 1))
        return rewards.reshape(acted.shape[:2]).T

    def values(self, latents: Tensor) -> Tensor:
        """latents [M,Z] -> what the critics expect of the policy's mean action, on average [M]"""
        first, *others = self.action_values(latents, self.policy(latents, None))
        return sum(others, first) / (1 + len(others))  # one after the other: a mean adds rows in an order of its own

    def policy(self, latents: Tensor, noise: Tensor | None) -> Tensor:
        """latents [M,Z], standard normals [M,A] or None for the mean -> actions in their own units [M,A]"""
        noise = self.network.low.new_zeros(len(latents), self.agent.action) if noise is None else noise
        return self._made(_drawn, self._latents(latents), noise)

    def action_values(self, latents: Tensor, actions: Tensor) -> Tensor:
        """latents [M,Z], actions [M,A] -> by critic [n,M]"""
        return self._made(_valued, self._latents(latents), self.network.scaled(actions), axis=1)

    def discount(self) -> float:
        return float(self.network.discount)

    @property
    def agent(self) -> TDMPC2:
        return self.network.agent

    @property
    def _decodes(self) -> bool:
        return self.rollout_way == "decoded"

    def _latents(self, numbers: Tensor) -> Tensor:
        return self._made(_encoded, numbers) if self._decodes else numbers

    def _stepped(self, latents: Tensor, scaled: Tensor) -> Tensor:
        moved = self._made(_moved, self._latents(latents), scaled)
        return self._made(_decoded, moved) if self._decodes else moved

    def _made(self, of: Callable[..., Tensor], *rows: Tensor, axis: int = 0) -> Tensor:
        """By the compiled networks, of which company changes no bit, or by torch's in parts that keep it so."""
        if self._only_values(*rows):
            return of(self._compiled, *rows)
        return self._in_parts(partial(of, self.network), *rows, axis=axis)

    def _only_values(self, *rows: Tensor) -> bool:
        """Whether the compiled networks will do: on a CPU, and nobody asks for a gradient."""
        if torch.is_grad_enabled() and any(one.requires_grad for one in (*rows, *self._learned)):
            return False
        return self._compiles

    @property
    def _compiles(self) -> bool:
        low = self.network.low
        return self._narrow and low.device.type == "cpu" and low.dtype == torch.float32

    @cached_property
    def _narrow(self) -> bool:
        shape = self.agent.shape
        return max(shape.encoder, shape.hidden, shape.latent) <= WIDEST

    @property
    def _compiled(self) -> Decoded:
        """The networks as they were when first used, on the task of now."""
        made, task = self._compiled_once, self.agent.task
        if made.agent.task != task:
            made.agent.task = task
        return made

    @cached_property
    def _compiled_once(self) -> Decoded:
        with requires_package("numba", "tdmpc2 on a CPU needs numba: install wmel[learned]"):
            from wmel.models.tdmpc2.compiled import compiled
        with torch.inference_mode(False):
            return compiled(self.network)

    @cached_property
    def _learned(self) -> list[nn.Parameter]:
        return list(self.network.parameters())

    @cached_property
    def _in_parts(self) -> InParts:
        return InParts.of(self.network)

    @cached_property
    def _weights(self) -> str:
        return weights_hash(self.network)


def _encoded(network: Decoded, observations: Tensor) -> Tensor:
    return network.agent.encode(observations)


def _moved(network: Decoded, latents: Tensor, scaled: Tensor) -> Tensor:
    return network.agent.next(latents, scaled)


def _decoded(network: Decoded, latents: Tensor) -> Tensor:
    return network.decoder(latents)


def _rewarded(network: Decoded, latents: Tensor, scaled: Tensor) -> Tensor:
    return expected(network.agent.reward_logits(latents, scaled))


def _drawn(network: Decoded, latents: Tensor, noise: Tensor) -> Tensor:
    mean, log_deviation = network.agent.policy_of(latents)
    return network.unscaled((mean + noise * log_deviation.exp()).tanh())


def _valued(network: Decoded, latents: Tensor, scaled: Tensor) -> Tensor:
    return expected(network.agent.value_logits(latents, scaled))
