"""The networks of TD-MPC2, their layers and published sizes, and its two-hot encoding of rewards and values."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from wmel.errors import require

BINS, LOWEST, HIGHEST = 101, -10.0, 10.0
WIDTH = (HIGHEST - LOWEST) / (BINS - 1)
GROUP = 8  # components of a simplex
EPSILON = 1e-5  # added to variances
Activation = Literal["mish", "relu"]
LatentNorm = Literal["simnorm", "layernorm", "none"]


def symlog(numbers: Tensor) -> Tensor:
    return numbers.sign() * numbers.abs().log1p()


def symexp(numbers: Tensor) -> Tensor:
    return numbers.sign() * numbers.abs().expm1()


def two_hot(numbers: Tensor) -> Tensor:
    """Weights of the two bins around the symlog of each number: [...] -> [...,101]"""
    place = ((symlog(numbers).clamp(LOWEST, HIGHEST) - LOWEST) / WIDTH)[..., None]
    bins = torch.arange(BINS, device=numbers.device, dtype=numbers.dtype)
    return (1 - (place - bins).abs()).clamp_min(0)


def two_hot_mean(logits: Tensor) -> Tensor:
    """The expected number of a distribution over bins: logits [...,101] -> [...]"""
    bins = torch.linspace(LOWEST, HIGHEST, BINS, device=logits.device, dtype=logits.dtype)
    return symexp((logits.softmax(-1) * bins).sum(-1))


def two_hot_cross_entropy(logits: Tensor, numbers: Tensor) -> Tensor:
    """The cross-entropy of numbers [...] under logits [...,101]: [...]"""
    return -(two_hot(numbers) * functional.log_softmax(logits, -1)).sum(-1)


def simnorm(numbers: Tensor) -> Tensor:
    """Softmax within groups of 8 of the last axis: [...,Z] -> [...,Z]"""
    return numbers.unflatten(-1, (-1, GROUP)).softmax(-1).flatten(-2)


class NormedLinear(nn.Linear):
    """A linear layer, layer norm, and an activation: mish, relu, simnorm or none."""

    def __init__(self, inputs: int, outputs: int, last: str = "mish", normed: bool = True):
        super().__init__(inputs, outputs)
        self.ln = nn.LayerNorm(outputs) if normed else nn.Identity()
        self.last = last

    def forward(self, input: Tensor) -> Tensor:
        return apply_activation(self.ln(super().forward(input)), self.last)


def apply_activation(numbers: Tensor, name: str) -> Tensor:
    """Applies mish, relu or simnorm. Any other name means no activation."""
    if name == "mish":
        return functional.mish(numbers) if numbers.requires_grad or numbers.device.type != "cpu" else _mish(numbers)
    if name == "relu":
        return numbers.relu()
    return simnorm(numbers) if name == "simnorm" else numbers


def _mish(numbers: Tensor) -> Tensor:
    """x tanh(log(1 + e^x)) as x / (1 + 1 / (e^x + e^2x / 2)), three times as fast as torch's mish on a CPU."""
    exponential = numbers.exp()
    return numbers / (1 + torch.addcmul(exponential, exponential, exponential, value=0.5).reciprocal())


def build_stack(widths: Sequence[int], activation: Activation, end: LatentNorm | None = None) -> nn.Sequential:
    """Normed layers of the given widths. The last layer is linear, or ends with a norm of latents."""
    *inner, last = pairwise(widths)
    layers: list[nn.Module] = [NormedLinear(*pair, activation) for pair in inner]
    if end is None or end == "none":
        layers.append(nn.Linear(*last))
    else:
        layers.append(NormedLinear(*last, "simnorm" if end == "simnorm" else "identity"))
    return nn.Sequential(*layers)


class Ensemble(nn.Module):
    """Several networks of one shape with the same input: [...,I] -> [n,...,O]."""

    def __init__(self, count: int, widths: Sequence[int], activation: Activation):
        super().__init__()
        self.count, self.outputs, self.activation = count, widths[-1], activation
        self.layers = nn.ModuleList(
            ParallelLinear(count, *pair, normed=place < len(widths) - 2) for place, pair in enumerate(pairwise(widths))
        )

    def forward(self, inputs: Tensor, dropout: float = 0.0) -> Tensor:
        """`dropout` is the dropout rate after the first layer, for training."""
        flat = inputs.reshape(inputs.shape[:-1].numel(), inputs.shape[-1])
        hidden = flat.expand(self.count, *flat.shape)
        for place, layer in enumerate(self.layers):
            hidden = layer(hidden, dropout if place == 0 else 0.0)
            hidden = self._activate(hidden) if place < len(self.layers) - 1 else hidden
        return hidden.reshape(self.count, *inputs.shape[:-1], self.outputs)

    def _activate(self, hidden: Tensor) -> Tensor:
        if hidden.device.type != "cpu":
            return apply_activation(hidden, self.activation)
        # network by network: torch would use several threads for all of them
        return torch.stack([apply_activation(one, self.activation) for one in hidden])


class TaskEmbedding(nn.Embedding):
    """A vector for each task, scaled to a norm of at most 1. The stored weights may be larger."""

    def forward(self, input: Tensor) -> Tensor:
        stored = super().forward(input)
        return stored / stored.norm(dim=-1, keepdim=True).clamp_min(1)


class ParallelLinear(nn.Module):
    """One linear layer per network, with an optional layer norm."""

    def __init__(self, count: int, inputs: int, outputs: int, *, normed: bool):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(count, outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(count, outputs))
        self.ln = ParallelNorm(count, outputs) if normed else None

    def forward(self, inputs: Tensor, dropout: float) -> Tensor:
        outputs = torch.baddbmm(self.bias[:, None], inputs, self.weight.transpose(1, 2))
        outputs = functional.dropout(outputs, dropout) if dropout else outputs
        return outputs if self.ln is None else self.ln(outputs)


class ParallelNorm(nn.Module):
    def __init__(self, count: int, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(count, width))
        self.bias = nn.Parameter(torch.zeros(count, width))

    def forward(self, inputs: Tensor) -> Tensor:
        return functional.layer_norm(inputs, inputs.shape[-1:], eps=EPSILON) * self.weight[:, None] + self.bias[:, None]


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
        for value, known in ((activation, Activation), (latent_norm, LatentNorm)):
            require(value in get_args(known), f"it must be one of {', '.join(get_args(known))}", value)
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
