"""The networks of TD-MPC2 and their published sizes."""

from dataclasses import dataclass
from typing import get_args

import torch
from torch import Tensor, nn

from wmel.errors import require
from wmel.models.tdmpc2.layers import BINS, GROUP, Activation, Ensemble, LatentNorm, TaskEmbedding, build_stack

LOWEST_LOG, LOG_RANGE = -10.0, 12.0  # of the logarithm of the policy's standard deviation


@dataclass(frozen=True)
class NetworkShape:
    """Widths and numbers of layers, and the number of critics."""

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
    """Several tasks in one network, each with an embedding vector."""

    count: int
    width: int  # of the embedding


class TDMPC2(nn.Module):
    """Encoder, latent dynamics, reward, critics and a policy prior. Actions lie in [-1, 1]."""

    masks: Tensor  # [tasks,A], 1 for the components of the actions that a task uses, else 0

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
        require(shape.latent % GROUP == 0, f"the width of a latent must be a multiple of {GROUP}", shape.latent)
        for given, known in ((activation, Activation), (latent_norm, LatentNorm)):
            require(given in get_args(known), f"it must be one of {', '.join(get_args(known))}", given)
        self.shape, self.observation, self.action, self.task = shape, observation, action, 0
        self.dropout = dropout
        embedding = 0 if tasks is None else tasks.width
        width, latent, inputs = shape.hidden, shape.latent, shape.latent + embedding + action
        inner = [shape.encoder] * max(shape.encoder_layers - 1, 1)
        self.embedding = None if tasks is None else TaskEmbedding(tasks.count, tasks.width)
        self.encoder = build_stack([observation + embedding, *inner, latent], activation, latent_norm)
        self.dynamics = build_stack([inputs, width, width, latent], activation, latent_norm)
        self.reward = build_stack([inputs, width, width, BINS], activation)
        self.policy = build_stack([latent + embedding, width, width, 2 * action], activation)
        self.critics = Ensemble(shape.critics, [inputs, width, width, BINS], activation)
        if tasks is not None:
            self.register_buffer("masks", torch.ones(tasks.count, action))
        self.apply(_initialise)
        self._zero_outputs()

    def encode(self, observations: Tensor) -> Tensor:
        """observations [...,O] -> latents [...,Z]"""
        return self.encoder(self._with_task(observations))

    def next(self, latents: Tensor, actions: Tensor) -> Tensor:
        """latents [...,Z], actions [...,A] -> latents [...,Z]"""
        return self.dynamics(self.with_actions(latents, actions))

    def reward_logits(self, latents: Tensor, actions: Tensor) -> Tensor:
        """latents [...,Z], actions [...,A] -> logits of the reward [...,101]"""
        return self.reward(self.with_actions(latents, actions))

    def value_logits(self, latents: Tensor, actions: Tensor, dropout: float = 0.0) -> Tensor:
        """latents [...,Z], actions [...,A] -> logits of the value by critic [n,...,101]. `dropout` is for training."""
        return self.critics(self.with_actions(latents, actions), dropout)

    def policy_distribution(self, latents: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log standard deviation of the action before tanh: [...,A] each."""
        mean, spread = self.policy(self._with_task(latents)).chunk(2, -1)
        log_deviation = LOWEST_LOG + 0.5 * LOG_RANGE * (spread.tanh() + 1)
        if self.embedding is None:
            return mean, log_deviation
        unused = self.masks[self.task] == 0
        return mean.masked_fill(unused, 0.0), log_deviation.masked_fill(unused, -torch.inf)

    def with_actions(self, latents: Tensor, actions: Tensor) -> Tensor:
        """The input of dynamics, reward and critics: [...,Z], [...,A] -> [...,Z+T+A]"""
        return torch.cat([latents, self.action_inputs(actions)], -1)

    def action_inputs(self, actions: Tensor) -> Tensor:
        """The input beside the latent: the actions, after the task vector if there are tasks. [...,A] -> [...,T+A]"""
        if self.embedding is None:
            return actions
        return torch.cat([self._task_vectors(actions), actions * self.masks[self.task]], -1)

    def _with_task(self, numbers: Tensor) -> Tensor:
        """The numbers, followed by the task vector if there are tasks."""
        return numbers if self.embedding is None else torch.cat([numbers, self._task_vectors(numbers)], -1)

    def _task_vectors(self, numbers: Tensor) -> Tensor:
        """The task vector for each row of numbers: [...,n] -> [...,T]"""
        assert self.embedding is not None
        task = self.embedding(torch.tensor(self.task, device=numbers.device))
        return task.expand(*numbers.shape[:-1], -1)

    def _zero_outputs(self) -> None:
        """Initialises the last layers such that predicted rewards and values are zero."""
        for layer in (self.reward[-1], self.critics.layers[-1]):
            nn.init.zeros_(layer.weight)  # pyright: ignore[reportArgumentType]


def _initialise(module: nn.Module) -> None:
    weight, bias = getattr(module, "weight", None), getattr(module, "bias", None)
    if isinstance(module, nn.Linear) or (isinstance(weight, nn.Parameter) and weight.ndim == 3):
        nn.init.trunc_normal_(weight, std=0.02)  # pyright: ignore[reportArgumentType]
        nn.init.zeros_(bias)  # pyright: ignore[reportArgumentType]
