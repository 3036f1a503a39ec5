"""Prediction errors of a model after one step, and after many steps in open loop."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from wmel.contract.environment import Space
from wmel.training.data import Dataset, Transitions, network_input

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
