"""Fitting a network to samples."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from wmel.errors import BadInput
from wmel.machine import limit_threads

Settings = Any  # a resolved FittedTrainer: its settings of the fit are no longer None


@dataclass(frozen=True, eq=False)
class Samples:
    """What a network is fitted to, row by row."""

    arrays: tuple[Tensor, ...]  # each [n,...]
    loss: Callable[..., Tensor]  # of some rows of each
    groups: np.ndarray  # [n] from 0 on: rows of a group are fitted together or held out together

    def rows(self, index: Tensor) -> tuple[Tensor, ...]:
        return tuple(array[index] for array in self.arrays)

    def error(self, index: np.ndarray) -> float:
        with torch.no_grad():
            return float(self.loss(*self.rows(torch.as_tensor(index))))


@dataclass(frozen=True, eq=False)
class Fitted:
    """Which samples were fitted and which held out, and how long it took."""

    kept: np.ndarray
    held_out: np.ndarray
    epochs: int
    interrupted: bool
    seconds: float
    losses: list[float]  # of the last batch of each epoch
    snapshots: dict[int, dict[str, Tensor]]  # weights after some epochs, on the way

    def after(self, epochs: int) -> "Fitted":
        """The same after fewer epochs."""
        return replace(self, epochs=epochs, losses=self.losses[:epochs], snapshots={})


def fit(
    network: nn.Module,
    samples: Samples,
    settings: Settings,
    progress: Callable[[float], None] = lambda epochs: None,
) -> Fitted:
    """Fit a network to samples; `progress` counts epochs."""
    begin = time.perf_counter()
    torch.manual_seed(settings.seed)
    held, kept = _split(samples.groups, settings)
    snapshots: dict[int, dict[str, Tensor]] = {}
    with limit_threads(settings.threads):
        losses, interrupted = _descend(network, samples, kept, held, settings, progress, snapshots)
    network.requires_grad_(False)
    return Fitted(kept, held, len(losses), interrupted, time.perf_counter() - begin, losses, snapshots)


def _split(groups: np.ndarray, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Rows held out and rows kept, the groups in the order of the seed's shuffle."""
    count = int(groups.max()) + 1
    place = np.argsort(np.random.default_rng(settings.seed).permutation(count))[groups]
    rows, first_kept = np.argsort(place, kind="stable"), int(settings.held_out * count)
    held, kept = np.split(rows, [int((place < first_kept).sum())])
    if not len(kept):
        raise BadInput(f"{len(rows)} samples leave nothing to fit when {settings.held_out:g} is held out")
    if settings.patience is not None and not len(held):
        raise BadInput(f"patience needs data held out to judge by, and {settings.held_out:g} of {count} is nothing")
    return held, kept


def _descend(
    network: nn.Module,
    samples: Samples,
    kept: np.ndarray,
    held: np.ndarray,
    settings: Settings,
    progress: Callable[[float], None],
    snapshots: dict[int, dict[str, Tensor]],
) -> tuple[list[float], bool]:
    """The loss after each whole epoch, and whether someone interrupted the next; the weights so far are kept."""
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda epochs: _rate_after(epochs, settings))
    best, best_weights, since = math.inf, None, 0
    losses: list[float] = []
    interrupted = False
    try:
        while len(losses) < settings.epochs and since < (settings.patience or math.inf):
            loss = _epoch(optimiser, samples, torch.as_tensor(kept)[torch.randperm(len(kept))], settings.batch)
            schedule.step()
            losses.append(float(loss))
            if not math.isfinite(losses[-1]):
                raise BadInput(f"the loss became {losses[-1]} in epoch {len(losses)}: lower the learning rate")
            if len(losses) in settings.checkpoint_updates:
                snapshots[len(losses)] = _copy_of(network)
            progress(1)
            if settings.patience is not None:
                now = samples.error(held)
                since = 0 if now < best else since + 1
                if now < best:
                    best, best_weights = now, _copy_of(network)
    except KeyboardInterrupt:
        interrupted = True
    if best_weights is not None:
        network.load_state_dict(best_weights)
    return losses, interrupted


def _copy_of(network: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in network.state_dict().items()}


def _rate_after(epochs: int, settings: Settings) -> float:
    """The share of the learning rate that is left."""
    return (1 + math.cos(math.pi * epochs / settings.epochs)) / 2 if settings.decay else 1.0


def _epoch(optimiser: torch.optim.Optimizer, samples: Samples, order: Tensor, batch: int) -> Tensor:
    """One pass over the samples in an order; the loss of the last batch."""
    loss = torch.tensor(math.nan)
    for part in zip(*(array.split(batch) for array in samples.rows(order)), strict=True):
        optimiser.zero_grad(set_to_none=True)
        loss = samples.loss(*part)
        loss.backward()
        optimiser.step()
    return loss.detach()
