"""Deciding from a step's quantities whether an episode has succeeded."""

import numpy as np

from wmel.contract.criterion import Criterion, Stop, When
from wmel.errors import BadInput, chosen


def stop_rule(criterion: Criterion | None, stop: Stop | str | None) -> Stop:
    """The rule asked for, or the one that fits: stop at a success that is established at once, else run to the end.

    Refused: a rule that makes the criterion meaningless.
    """
    if stop is None:
        return Stop.SUCCESS if criterion is not None and criterion.when is When.FIRST else Stop.HORIZON
    stop = chosen(Stop, stop)
    if stop is Stop.SUCCESS and criterion is None:
        raise BadInput("without a criterion there is no success to stop at: give one, or stop = horizon")
    if stop is Stop.SUCCESS and criterion is not None and criterion.when is not When.FIRST:
        raise BadInput(
            f"success '{criterion}' is judged over whole episodes: it needs stop = horizon, got stop = success"
        )
    return stop


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
