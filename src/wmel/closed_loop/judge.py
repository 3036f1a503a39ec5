"""Deciding from a step's quantities whether an episode has succeeded."""

import numpy as np

from wmel.contract.criterion import Criterion, Stop, When
from wmel.errors import BadInput


def check(criterion: Criterion, stop: Stop) -> None:
    """Refuse a criterion that the stop rule makes meaningless."""
    if stop is Stop.SUCCESS and criterion.when is not When.FIRST:
        raise BadInput(
            f"success '{criterion}' is judged over whole episodes: it needs stop = horizon, got stop = success"
        )


def held(criterion: Criterion, quantities: dict[str, np.ndarray]) -> np.ndarray:
    """Where the quantity is on the right side of its bound at this step: bool [B]."""
    if criterion.quantity not in quantities:
        known = ", ".join(quantities)
        raise BadInput(f"the environment has no quantity '{criterion.quantity}' to judge success by; known: {known}")
    values = quantities[criterion.quantity]
    return values >= criterion.at_least if criterion.at_least is not None else values <= criterion.at_most


def succeeded(criterion: Criterion, streak: np.ndarray, is_last_step: bool) -> np.ndarray:
    """Where success is established at this step, given how many steps in a row [B] the criterion has held."""
    if criterion.when is When.AT_END:
        return (streak > 0) & is_last_step
    return streak >= criterion.steps
