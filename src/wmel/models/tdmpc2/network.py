"""The networks of TD-MPC2 by size."""

from dataclasses import dataclass
from typing import get_args

import torch
from torch import Tensor, nn

from wmel.errors import require
from wmel.models.tdmpc2.layers import BINS, GROUP, Activation, Ensemble, LatentNorm, TaskEmbedding, stack

LOWEST_LOG, LOG_RANGE = -10.0, 12.0  # of the policy's deviation


@dataclass(frozen=True)
class NetworkShape:
    """How wide and how many."""

    encoder: int
    hidden: int
    latent: int
    encoder_layers: int
    critics: int


SIZES = {
    1: NetworkShape(256, 384, 128, 2, 2),
    5: NetworkShape(256, 512, 512, 2, 5),
    19: NetworkShape(1024, 1024, 768, 3, 5),
    48: NetworkShape(1792, 1792, 768, 4, 5),
    317: NetworkShape(4096, 4096, 1376, 5, 8),
}


@dataclass(frozen=True)
class Tasks:
    """Several tasks in one network, told apart by an embedding."""

    count: int
    width: int


class TDMPC2(nn.Module):
    """Encoder, latent dynamics, reward, values and a policy prior; actions lie in [-1, 1]."""

    masks: Tensor  # of several tasks: 1 where a task has such a number in its actions, else 0 [tasks,A]

    def __init__(
        self,
        observation: int,
        action: int,
        shape: NetworkShape,
        activation: Activation = "mish",
        latent_norm: LatentNorm = "simnorm",
        tasks: Tasks | None = None,
        dropout: float = 0.01,
    ):
        super().__init__()
        require(shape.latent % GROUP == 0, f"a latent is groups of {GROUP} numbers", shape.latent)
        for given, known in ((activation, Activation), (latent_norm, LatentNorm)):
            require(given in get_args(known), f"known are {', '.join(get_args(known))}", given)
        self.shape, self.observation, self.action, self.task = shape, observation, action, 0
        self.dropout = dropout
        known = 0 if tasks is None else tasks.width
        width, latent, acted = shape.hidden, shape.latent, shape.latent + known + action
        inner = [shape.encoder] * max(shape.encoder_layers - 1, 1)
        self.embedding = None if tasks is None else TaskEmbedding(tasks.count, tasks.width)
        self.encoder = stack([observation + known, *inner, latent], activation, latent_norm)
        self.dynamics = stack([acted, width, width, latent], activation, latent_norm)
        self.reward = stack([acted, width, width, BINS], activation)
        self.policy = stack([latent + known, width, width, 2 * action], activation)
        self.critics = Ensemble(shape.critics, [acted, width, width, BINS], activation)
        if tasks is not None:
            self.register_buffer("masks", torch.ones(tasks.count, action))
        self.apply(_start)
        self._zero_outputs()

    def encode(self, observations: Tensor) -> Tensor:
        """[...,O] -> [...,Z]"""
        return self.encoder(self._known(observations))

    def next(self, latents: Tensor, actions: Tensor) -> Tensor:
        """[...,Z], [...,A] -> [...,Z]"""
        return self.dynamics(self.acted(latents, actions))

    def reward_logits(self, latents: Tensor, actions: Tensor) -> Tensor:
        """[...,Z], [...,A] -> [...,101]"""
        return self.reward(self.acted(latents, actions))

    def value_logits(self, latents: Tensor, actions: Tensor, dropout: float = 0.0) -> Tensor:
        """Of every critic: [n,...,101]; `dropout` is for learning."""
        return self.critics(self.acted(latents, actions), dropout)

    def policy_of(self, latents: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-deviation of the action before tanh: [...,A] each."""
        mean, spread = self.policy(self._known(latents)).chunk(2, -1)
        log_deviation = LOWEST_LOG + 0.5 * LOG_RANGE * (spread.tanh() + 1)
        if self.embedding is None:
            return mean, log_deviation
        unused = self.masks[self.task] == 0
        return mean.masked_fill(unused, 0.0), log_deviation.masked_fill(unused, -torch.inf)

    def acted(self, latents: Tensor, actions: Tensor) -> Tensor:
        """What dynamics, reward and values are given: [...,Z], [...,A] -> [...,Z+T+A]"""
        return torch.cat([latents, self.moves(actions)], -1)

    def moves(self, actions: Tensor) -> Tensor:
        """What is put beside a latent, the task too where there are several: [...,A] -> [...,T+A]"""
        if self.embedding is None:
            return actions
        return torch.cat([self._task_of(actions), actions * self.masks[self.task]], -1)

    def _known(self, numbers: Tensor) -> Tensor:
        """The numbers, and which task they belong to where there are several."""
        return numbers if self.embedding is None else torch.cat([numbers, self._task_of(numbers)], -1)

    def _task_of(self, numbers: Tensor) -> Tensor:
        """The task's vector beside each row of numbers: [...,n] -> [...,T]"""
        assert self.embedding is not None
        task = self.embedding(torch.tensor(self.task, device=numbers.device))
        return task.expand(*numbers.shape[:-1], -1)

    def _zero_outputs(self) -> None:
        """Reward and values start at zero whatever they are asked."""
        for layer in (self.reward[-1], self.critics.layers[-1]):
            nn.init.zeros_(layer.weight)  # pyright: ignore[reportArgumentType]


def _start(module: nn.Module) -> None:
    weight, bias = getattr(module, "weight", None), getattr(module, "bias", None)
    if isinstance(module, nn.Linear) or (isinstance(weight, nn.Parameter) and weight.ndim == 3):
        nn.init.trunc_normal_(weight, std=0.02)  # pyright: ignore[reportArgumentType]
        nn.init.zeros_(bias)  # pyright: ignore[reportArgumentType]
