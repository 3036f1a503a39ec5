"""How far a model drifts from the truth when nobody corrects it."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from wmel.contract.spaces import Space
from wmel.training.transitions import network_input

LONGEST = 50
Imagine: TypeAlias = Callable[[Tensor, Tensor], Tensor]  # observations [M,O], network inputs [M,H,A] -> [M,H+1,O]


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
