"""How far a model drifts from the truth when nobody corrects it."""

import numpy as np
import torch

from wmel.contract.spaces import Space
from wmel.models.mlp import FoldedMLP
from wmel.training.transitions import network_input

LONGEST = 50


def open_loop_errors(
    network: FoldedMLP, space: Space, recorded: dict[str, np.ndarray], longest: int = LONGEST
) -> list[float]:
    """Root mean squared error of the observation after k = 1.. steps under the recorded actions, over all components.

    From every start in held-out episodes that leaves that many steps; k ends where none does.
    """
    observations, after, actions, steps = (
        recorded[name] for name in ("observations", "next_observations", "actions", "steps")
    )
    longest = min(longest, int(steps.max()))
    squares, counts = np.zeros(longest), np.zeros(longest)
    for episode, length in enumerate(steps):
        reach = min(longest, int(length))
        starts = np.arange(length - reach + 1) if length > reach else np.arange(1)
        index = starts[:, None] + np.arange(reach)
        taken = torch.as_tensor(network_input(space, actions[episode][index]))
        with torch.no_grad():
            imagined = network.rollout(torch.as_tensor(observations[episode][starts], dtype=torch.float32), taken)
        gap = imagined[:, 1:].double().numpy() - after[episode][index]
        squares[:reach] += np.square(gap).mean(axis=2).sum(axis=0)
        counts[:reach] += len(starts)
    with np.errstate(over="ignore", invalid="ignore"):
        return [float(number) for number in np.sqrt(squares / counts)]
