"""What the loop accepts from an environment and from a policy."""

import numpy as np

from wmel.arrays import Array
from wmel.contract.policy import Decision
from wmel.contract.spaces import Space
from wmel.errors import BadDecision, BadStep


def check_states(states: np.ndarray, count: int) -> np.ndarray:
    """The states, if there is one row for each episode."""
    shape = np.shape(states)
    if len(shape) != 2 or shape[0] != count:
        raise BadStep(f"an environment must return states [{count},S], got shape {shape}")
    return states


def check_memory(memory: dict[str, Array] | None, count: int) -> dict[str, Array] | None:
    """The memory, if every array in it has one row for each episode."""
    for name, array in (memory or {}).items():
        if len(array) != count:
            raise BadDecision(f"a policy's memory must have {count} rows, and '{name}' has {len(array)}")
    return memory


def check_decision(decision: Decision, space: Space, count: int) -> None:
    """Refuse a decision of the wrong shape, or with an action outside the action space."""
    shape, lengths = np.shape(decision.actions), np.asarray(decision.lengths)
    if len(shape) != 3 or shape[0] != count or shape[2] != space.width:
        raise BadDecision(f"a policy must return actions [{count},K,{space.width}], got shape {shape}")
    if lengths.shape != (count,) or lengths.min() < 0 or lengths.max() > shape[1]:
        raise BadDecision(f"a policy must return {count} lengths within 0..{shape[1]}, got {lengths.tolist()}")
    inside = space.contains(decision.actions)
    if inside.all():
        return
    used = np.arange(shape[1]) < lengths[:, None]
    used[list(decision.errors)] = False
    for row, step in np.argwhere(used & ~inside):
        raise BadDecision(f"action {decision.actions[row, step].tolist()} at step {step} is outside the action space")
