"""Prediction errors of a model: one step, and step by step in open loop."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from wmel.contract.environment import Space
from wmel.training.data import Collected, Transitions, network_input

LONGEST = 50
Imagine: TypeAlias = Callable[[Tensor, Tensor], Tensor]  # observations [M,O], network inputs [M,H,A] -> [M,H+1,O]


def observation_errors(
    imagine: Imagine, space: Space, collected: Collected, kept: np.ndarray, held_out: np.ndarray
) -> dict[str, Any]:
    """Mean squared errors of the next observation, whatever was fitted, and those after many steps.

    Of the transitions that were fitted, of others of the same data, and of whole episodes; None where there are none.
    """

    def error(rows: Transitions) -> float:
        acted = torch.as_tensor(network_input(space, rows.actions))[:, None]
        with torch.no_grad():
            guess = imagine(torch.as_tensor(rows.observations, dtype=torch.float32), acted)[:, 1]
        return float(np.square(guess.double().numpy() - rows.next_observations).mean())

    data, recorded = collected.training, collected.held_out
    return {
        "training_mse": error(data.rows(kept)),
        "held_out_transition_mse": error(data.rows(held_out)) if len(held_out) else None,
        "held_out_episode_mse": None if recorded is None else error(Transitions.of(recorded)),
        "open_loop_rmse": [] if recorded is None else open_loop_errors(imagine, space, recorded),
    }


def reward_errors(
    reward: Callable[[Tensor, Tensor], Tensor], space: Space, collected: Collected, kept: np.ndarray
) -> dict[str, Any]:
    """Mean squared errors of the reward of one step: of what was fitted, and of whole episodes."""

    def error(rows: Transitions) -> float:
        acted = torch.as_tensor(network_input(space, rows.actions))
        with torch.no_grad():
            guess = reward(torch.as_tensor(rows.observations, dtype=torch.float32), acted)
        return float(np.square(guess.double().numpy() - rows.rewards).mean())

    recorded = collected.held_out
    return {
        "training_reward_mse": error(collected.training.rows(kept)),
        "held_out_episode_reward_mse": None if recorded is None else error(Transitions.of(recorded)),
    }


def open_loop_errors(
    imagine: Imagine, space: Space, recorded: dict[str, np.ndarray], longest: int = LONGEST
) -> list[float | None]:
    """Root mean squared error of the observation after k = 1.. steps under the recorded actions, over all components.

    From every start in held-out episodes that leaves that many steps; k ends where none does.
    """
    observations, after, actions, steps = (
        recorded[name] for name in ("observations", "next_observations", "actions", "steps")
    )
    longest = min(longest, int(steps.max()))
    squares, counts = np.zeros(longest), np.zeros(longest)
    for episode, length in enumerate(steps):
        starts, ahead = np.arange(length), np.arange(min(longest, int(length)))
        index, there = (starts[:, None] + ahead).clip(max=length - 1), starts[:, None] + ahead < length
        taken = torch.as_tensor(network_input(space, actions[episode][index]))
        with torch.no_grad():
            imagined = imagine(torch.as_tensor(observations[episode][starts], dtype=torch.float32), taken)
        gap = np.square(imagined[:, 1:].double().numpy() - after[episode][index]).mean(axis=2)
        squares[: len(ahead)] += np.where(there, gap, 0).sum(axis=0)
        counts[: len(ahead)] += there.sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        errors = np.sqrt(squares / counts)
    return [float(error) if np.isfinite(error) else None for error in errors]
