"""TD-MPC2 behind the model contract: in latent space, or through the decoder at every step."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import torch
from torch import Tensor, nn

from wmel.contract.policy import Percept
from wmel.contract.world_model import WorldModelSpec
from wmel.models.in_parts import ROWS_AT_ONCE, InParts
from wmel.models.observed import observed
from wmel.models.rollout import step_by_step
from wmel.models.tdmpc2.network import TDMPC2
from wmel.models.tdmpc2.two_hot import expected
from wmel.models.weights import weights_hash

DECODER = 256

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
        return WorldModelSpec(name, "observation", "value", self._weights, ROWS_AT_ONCE)

    def encode(self, percept: Percept, previous: Tensor | None) -> Tensor:
        low = self.network.low
        observations = observed(percept, self.agent.observation, low.device, self.name).to(low.dtype)
        return observations if self._decodes else self._in_parts(self.agent.encode, observations)

    def step(self, latents: Tensor, actions: Tensor) -> Tensor:
        return self._in_parts(self._stepped, latents, self.network.scaled(actions))

    def rollout(self, latents: Tensor, actions: Tensor) -> Tensor:
        """As step by step, actions scaled all at once."""
        return step_by_step(partial(self._in_parts, self._stepped), latents, self.network.scaled(actions))

    def decode(self, latents: Tensor) -> Tensor:
        return latents if self._decodes else self._in_parts(self.network.decoder, latents)

    def rewards(self, trajectory: Tensor, actions: Tensor) -> Tensor:
        """latents [M,H+1,Z], actions [M,H,A] -> [M,H], each of the latent its action was taken in."""
        latents, acted = trajectory[:, :-1].transpose(0, 1), self.network.scaled(actions).transpose(0, 1)
        rewards = self._in_parts(self._rewarded, latents.flatten(0, 1), acted.flatten(0, 1))
        return rewards.reshape(acted.shape[:2]).T

    def values(self, latents: Tensor) -> Tensor:
        """latents [M,Z] -> what the critics expect of the policy's mean action, on average [M]"""
        first, *others = self.action_values(latents, self.policy(latents, None))
        return sum(others, first) / (1 + len(others))  # one after the other: a mean adds rows in an order of its own

    def policy(self, latents: Tensor, noise: Tensor | None) -> Tensor:
        """latents [M,Z], standard normals [M,A] or None for the mean -> actions in their own units [M,A]"""
        noise = self.network.low.new_zeros(len(latents), self.agent.action) if noise is None else noise
        return self._in_parts(self._drawn, latents, noise)

    def action_values(self, latents: Tensor, actions: Tensor) -> Tensor:
        """latents [M,Z], actions [M,A] -> by critic [n,M]"""
        return self._in_parts(self._valued, latents, self.network.scaled(actions), axis=1)

    def discount(self) -> float:
        return float(self.network.discount)

    @property
    def agent(self) -> TDMPC2:
        return self.network.agent

    @property
    def _decodes(self) -> bool:
        return self.rollout_way == "decoded"

    def _latents(self, numbers: Tensor) -> Tensor:
        return self.agent.encode(numbers) if self._decodes else numbers

    def _stepped(self, latents: Tensor, scaled: Tensor) -> Tensor:
        moved = self.agent.next(self._latents(latents), scaled)
        return self.network.decoder(moved) if self._decodes else moved

    def _rewarded(self, latents: Tensor, scaled: Tensor) -> Tensor:
        return expected(self.agent.reward_logits(self._latents(latents), scaled))

    def _drawn(self, latents: Tensor, noise: Tensor) -> Tensor:
        mean, log_deviation = self.agent.policy_of(self._latents(latents))
        return self.network.unscaled((mean + noise * log_deviation.exp()).tanh())

    def _valued(self, latents: Tensor, scaled: Tensor) -> Tensor:
        return expected(self.agent.value_logits(self._latents(latents), scaled))

    @cached_property
    def _in_parts(self) -> InParts:
        return InParts.of(self.network)

    @cached_property
    def _weights(self) -> str:
        return weights_hash(self.network)
