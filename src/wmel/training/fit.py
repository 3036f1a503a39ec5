"""Fits a network to samples: split, epochs, early stopping and intermediate weights."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from wmel.contract.environment import Space
from wmel.errors import BadInput
from wmel.machine import limit_threads
from wmel.training.data import Dataset, Transitions, network_input

Settings = Any  # a resolved FittedTrainer, whose settings of the fit are not None


@dataclass(frozen=True, eq=False)
class Samples:
    """The samples that a network is fitted to, as rows of arrays."""

    arrays: tuple[Tensor, ...]  # each [n,...]
    loss: Callable[..., Tensor]  # of some rows of each array
    groups: np.ndarray  # [n] group numbers from 0; a group is fitted or held out as a whole

    def rows(self, index: Tensor) -> tuple[Tensor, ...]:
        return tuple(array[index] for array in self.arrays)

    def error(self, index: np.ndarray) -> float:
        with torch.no_grad():
            return float(self.loss(*self.rows(torch.as_tensor(index))))


@dataclass(frozen=True, eq=False)
class FitResult:
    """The split of the samples, and the course of a fit."""

    fitted: np.ndarray  # rows of the samples that were fitted
    held_out: np.ndarray  # rows that were held out
    epochs: int
    interrupted: bool
    seconds: float
    losses: list[float]  # of the last batch of each epoch
    snapshots: dict[int, dict[str, Tensor]]  # intermediate weights by the number of epochs

    def truncate(self, epochs: int) -> "FitResult":
        """The result after the first epochs only."""
        return replace(self, epochs=epochs, losses=self.losses[:epochs], snapshots={})


def fit(
    network: nn.Module,
    samples: Samples,
    settings: Settings,
    progress: Callable[[float], None] = lambda epochs: None,
) -> FitResult:
    """Fits a network to samples. `progress` is called with the number of finished epochs."""
    begin = time.perf_counter()
    torch.manual_seed(settings.seed)
    held_out, fitted = _split(samples.groups, settings)
    snapshots: dict[int, dict[str, Tensor]] = {}
    with limit_threads(settings.threads):
        losses, interrupted = _optimise(network, samples, fitted, held_out, settings, progress, snapshots)
    network.requires_grad_(False)
    return FitResult(fitted, held_out, len(losses), interrupted, time.perf_counter() - begin, losses, snapshots)


def _split(groups: np.ndarray, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """The rows to hold out and the rows to fit. The seed shuffles the groups."""
    count = int(groups.max()) + 1
    place = np.argsort(np.random.default_rng(settings.seed).permutation(count))[groups]
    rows, first_fitted = np.argsort(place, kind="stable"), int(settings.held_out * count)
    held_out, fitted = np.split(rows, [int((place < first_fitted).sum())])
    if not len(fitted):
        raise BadInput(f"no samples to fit: {settings.held_out:g} of {len(rows)} samples are held out")
    if settings.patience is not None and not len(held_out):
        raise BadInput(f"patience needs data held out, and {settings.held_out:g} of {count} is nothing")
    return held_out, fitted


def _optimise(
    network: nn.Module,
    samples: Samples,
    fitted: np.ndarray,
    held_out: np.ndarray,
    settings: Settings,
    progress: Callable[[float], None],
    snapshots: dict[int, dict[str, Tensor]],
) -> tuple[list[float], bool]:
    """The loss after each complete epoch, and whether the fit was interrupted. An interrupted fit keeps its weights."""
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda epochs: _learning_rate_factor(epochs, settings))
    best, best_weights, epochs_without_improvement = math.inf, None, 0
    losses: list[float] = []
    interrupted = False
    try:
        while len(losses) < settings.epochs and epochs_without_improvement < (settings.patience or math.inf):
            order = torch.as_tensor(fitted)[torch.randperm(len(fitted))]
            loss = _run_epoch(optimiser, samples, order, settings.batch)
            schedule.step()
            losses.append(float(loss))
            if not math.isfinite(losses[-1]):
                raise BadInput(f"the loss became {losses[-1]} in epoch {len(losses)}: lower the learning rate")
            if len(losses) in settings.checkpoint_updates:
                snapshots[len(losses)] = _copy_weights(network)
            progress(1)
            if settings.patience is not None:
                error = samples.error(held_out)
                epochs_without_improvement = 0 if error < best else epochs_without_improvement + 1
                if error < best:
                    best, best_weights = error, _copy_weights(network)
    except KeyboardInterrupt:
        interrupted = True
    if best_weights is not None:
        network.load_state_dict(best_weights)
    return losses, interrupted


def _copy_weights(network: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in network.state_dict().items()}


def _learning_rate_factor(epochs: int, settings: Settings) -> float:
    """The factor of the learning rate after some epochs: half a cosine with `decay`, else 1."""
    return (1 + math.cos(math.pi * epochs / settings.epochs)) / 2 if settings.decay else 1.0


def _run_epoch(optimiser: torch.optim.Optimizer, samples: Samples, order: Tensor, batch: int) -> Tensor:
    """One pass over the samples in an order. Returns the loss of the last batch."""
    loss = torch.tensor(math.nan)
    for part in zip(*(array.split(batch) for array in samples.rows(order)), strict=True):
        optimiser.zero_grad(set_to_none=True)
        loss = samples.loss(*part)
        loss.backward()
        optimiser.step()
    return loss.detach()


MAX_STEPS = 50  # of the open-loop errors
Imagine: TypeAlias = Callable[[Tensor, Tensor], Tensor]  # observations [M,O], network inputs [M,H,A] -> [M,H+1,O]


def observation_errors(
    imagine: Imagine, space: Space, dataset: Dataset, fitted: np.ndarray, held_out: np.ndarray
) -> dict[str, Any]:
    """Mean squared errors of the next observation, and open-loop errors.

    They are computed for the fitted rows and the held-out rows of the training transitions, and for the held-out
    episodes. An error is None if there are no such transitions.
    """

    def error(rows: Transitions) -> float:
        actions = torch.as_tensor(network_input(space, rows.actions))[:, None]
        with torch.no_grad():
            predicted = imagine(torch.as_tensor(rows.observations, dtype=torch.float32), actions)[:, 1]
        return float(np.square(predicted.double().numpy() - rows.next_observations).mean())

    data, recorded = dataset.training, dataset.held_out
    return {
        "training_mse": error(data.rows(fitted)),
        "held_out_transition_mse": error(data.rows(held_out)) if len(held_out) else None,
        "held_out_episode_mse": None if recorded is None else error(Transitions.of(recorded)),
        "open_loop_rmse": [] if recorded is None else open_loop_errors(imagine, space, recorded),
    }


def reward_errors(
    reward: Callable[[Tensor, Tensor], Tensor], space: Space, dataset: Dataset, fitted: np.ndarray
) -> dict[str, Any]:
    """Mean squared errors of the reward of one step, for the fitted rows and for the held-out episodes."""

    def error(rows: Transitions) -> float:
        actions = torch.as_tensor(network_input(space, rows.actions))
        with torch.no_grad():
            predicted = reward(torch.as_tensor(rows.observations, dtype=torch.float32), actions)
        return float(np.square(predicted.double().numpy() - rows.rewards).mean())

    recorded = dataset.held_out
    return {
        "training_reward_mse": error(dataset.training.rows(fitted)),
        "held_out_episode_reward_mse": None if recorded is None else error(Transitions.of(recorded)),
    }


def open_loop_errors(imagine: Imagine, space: Space, recorded: dict[str, np.ndarray]) -> list[float | None]:
    """Root mean squared error of the observation after k = 1, 2, ... steps of the recorded actions.

    The mean is over all components and over all starts in the held-out episodes with k steps left. An error that is
    not finite is None.
    """
    observations, after, actions, steps = (
        recorded[name] for name in ("observations", "next_observations", "actions", "steps")
    )
    longest = min(MAX_STEPS, int(steps.max()))
    squares, counts = np.zeros(longest), np.zeros(longest)
    for episode, length in enumerate(steps):
        starts, ahead = np.arange(length), np.arange(min(longest, int(length)))
        index, valid = (starts[:, None] + ahead).clip(max=length - 1), starts[:, None] + ahead < length
        inputs = torch.as_tensor(network_input(space, actions[episode][index]))
        with torch.no_grad():
            imagined = imagine(torch.as_tensor(observations[episode][starts], dtype=torch.float32), inputs)
        square = np.square(imagined[:, 1:].double().numpy() - after[episode][index]).mean(axis=2)
        squares[: len(ahead)] += np.where(valid, square, 0).sum(axis=0)
        counts[: len(ahead)] += valid.sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        errors = np.sqrt(squares / counts)
    return [float(error) if np.isfinite(error) else None for error in errors]
