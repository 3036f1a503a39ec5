"""Fitting a network to transitions."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from wmel.errors import BadInput, require, require_whole
from wmel.models.mlp import MLP
from wmel.threads import limited_to


@dataclass(frozen=True)
class FitSettings:
    """The documents' by default: Adam, batches of 256, a tenth of the transitions held out, the last weights kept."""

    epochs: int = 200
    batch: int = 256
    learning_rate: float = 1e-3
    held_out: float = 0.1
    patience: int | None = None  # epochs without a better held-out error after which to stop and keep the best
    seed: int = 0
    threads: int = 1

    def __post_init__(self):
        for name in ("epochs", "batch", "threads"):
            require_whole(getattr(self, name), name)
        if self.patience is not None:
            require_whole(self.patience, "patience")
            require(self.held_out > 0, "patience needs data held out to judge by", self.held_out)
        require(0 < self.learning_rate < math.inf, "the learning rate must be a positive number", self.learning_rate)
        require(0 <= self.held_out < 1, "the held-out share must lie in [0, 1)", self.held_out)


@dataclass(frozen=True, eq=False)
class Fitted:
    """Which transitions were fitted and which held out, and how many epochs it took."""

    kept: np.ndarray
    held_out: np.ndarray
    epochs: int
    interrupted: bool


def fit(
    network: MLP,
    inputs: tuple[np.ndarray, np.ndarray, np.ndarray],
    settings: FitSettings,
    progress: Callable[[float], None] = lambda epochs: None,
) -> Fitted:
    """Fit a network to (observations, network inputs of actions, next observations); `progress` counts epochs."""
    torch.manual_seed(settings.seed)
    observations, actions, after = (torch.as_tensor(array, dtype=torch.float32) for array in inputs)
    order = np.random.default_rng(settings.seed).permutation(len(observations))
    held, kept = np.split(order, [int(settings.held_out * len(order))])
    if not len(kept):
        raise BadInput(f"{len(order)} transitions leave nothing to fit when {settings.held_out:g} is held out")
    wanted = network.wanted(observations, after)
    samples = _Samples(network, observations, actions, wanted)
    with limited_to(settings.threads):
        epochs, interrupted = _descend(network, samples, kept, held, settings, progress)
    network.requires_grad_(False)
    return Fitted(kept, held, epochs, interrupted)


@dataclass(frozen=True, eq=False)
class _Samples:
    """Inputs and what a network should make of them, row by row."""

    network: MLP
    observations: torch.Tensor
    actions: torch.Tensor
    wanted: torch.Tensor

    def rows(self, index: torch.Tensor) -> "_Samples":
        return _Samples(self.network, self.observations[index], self.actions[index], self.wanted[index])

    def batches(self, size: int) -> Iterator["_Samples"]:
        parts = (array.split(size) for array in (self.observations, self.actions, self.wanted))
        return (_Samples(self.network, *batch) for batch in zip(*parts, strict=True))

    def loss(self) -> torch.Tensor:
        return torch.nn.functional.mse_loss(self.network(self.observations, self.actions), self.wanted)

    def error(self, index: np.ndarray) -> float:
        with torch.no_grad():
            return float(self.rows(torch.as_tensor(index)).loss())


def _descend(
    network: MLP,
    samples: _Samples,
    kept: np.ndarray,
    held: np.ndarray,
    settings: FitSettings,
    progress: Callable[[float], None],
) -> tuple[int, bool]:
    """Whole epochs taken, and whether someone interrupted the next; the weights so far are kept."""
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, fused=True)
    best, best_weights, since = math.inf, None, 0
    taken, interrupted = 0, False
    try:
        while taken < settings.epochs and since < (settings.patience or math.inf):
            loss = _epoch(optimiser, samples.rows(torch.as_tensor(kept)[torch.randperm(len(kept))]), settings.batch)
            taken += 1
            if not torch.isfinite(loss):
                raise BadInput(f"the loss became {loss.item()} in epoch {taken}: lower the learning rate")
            progress(1)
            if settings.patience is not None and len(held):
                now = samples.error(held)
                since = 0 if now < best else since + 1
                if now < best:
                    best, best_weights = now, {name: value.clone() for name, value in network.state_dict().items()}
    except KeyboardInterrupt:
        interrupted = True
    if best_weights is not None:
        network.load_state_dict(best_weights)
    return taken, interrupted


def _epoch(optimiser: torch.optim.Optimizer, shuffled: _Samples, batch: int) -> torch.Tensor:
    """One pass over the samples; the loss of the last batch."""
    loss = torch.tensor(math.nan)
    for part in shuffled.batches(batch):
        optimiser.zero_grad(set_to_none=True)
        loss = part.loss()
        loss.backward()
        optimiser.step()
    return loss.detach()
