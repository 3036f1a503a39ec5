"""How far a model is from the truth on collected data."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wmel.contract.spaces import Space
from wmel.training.collect import Collected
from wmel.training.open_loop import Imagine, open_loop_errors
from wmel.training.transitions import Transitions, network_input


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
