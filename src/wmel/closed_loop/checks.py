"""What the loop accepts from an environment and from a policy; each check runs inside an attributed call."""

from dataclasses import replace

import numpy as np

from wmel.arrays import Array
from wmel.contract.perturbation import Moment
from wmel.contract.policy import Decision
from wmel.contract.spaces import Space
from wmel.errors import BadDecision, BadStep


def check_rows(array: np.ndarray, count: int, what: str) -> np.ndarray:
    """The array [B,...], if there is one row for each episode."""
    shape = np.shape(array)
    if len(shape) != 2 or shape[0] != count:
        raise BadStep(f"an environment must return {what} [{count},width], got shape {shape}")
    return array


def check_quantities(quantities: dict[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
    """The quantities, if each is one number per episode."""
    for name, numbers in quantities.items():
        if np.shape(numbers) != (count,):
            raise BadStep(f"quantity '{name}' must have the shape ({count},), got {np.shape(numbers)}")
    return quantities


def check_memory(memory: dict[str, Array] | None, count: int) -> dict[str, Array] | None:
    """The memory, if every array in it has one row for each episode."""
    for name, array in (memory or {}).items():
        if len(array) != count:
            raise BadDecision(f"a policy's memory must have {count} rows, and '{name}' has {len(array)}")
    return memory


def checked_decision(decision: Decision, space: Space, count: int, observed: dict[str, Array] | None) -> Decision:
    """The decision as arrays of the right kind; its memory is that of `observe` where `act` returned none.

    Refused: wrong shapes, lengths or errors out of range, actions outside the space, a memory of other arrays.
    """
    actions, lengths = np.asarray(decision.actions), np.asarray(decision.lengths)
    if actions.ndim != 3 or len(actions) != count or actions.shape[2] != space.width:
        raise BadDecision(f"a policy must return actions [{count},K,{space.width}], got shape {actions.shape}")
    longest = actions.shape[1]
    if not _whole(lengths, count) or lengths.min() < 0 or lengths.max() > longest:
        raise BadDecision(f"a policy must return {count} whole lengths within 0..{longest}, got {lengths.tolist()}")
    model_steps = np.asarray(decision.model_steps)
    if not _whole(model_steps, count):
        raise BadDecision(f"a policy must return {count} whole numbers of model steps, got {decision.model_steps!r}")
    for row, message in decision.errors.items():
        if row not in range(count) or not message:
            raise BadDecision(f"errors name rows within 0..{count - 1} and say why, got {{{row!r}: {message!r}}}")
    memory = observed if decision.memory is None else check_memory(decision.memory, count)
    if (memory or {}).keys() != (observed or {}).keys():
        raise BadDecision(f"act must keep the memory observe made ({list(observed or {})}), got {list(memory or {})}")
    _check_inside(actions, lengths, space, decision.errors)
    return replace(decision, actions=actions, lengths=lengths, model_steps=model_steps, memory=memory)


def check_moment(moment: Moment, space: Space, count: int) -> Moment:
    """What a perturbation made of a moment, if it can go on."""
    check_rows(moment.states, count, "states")
    shape = np.shape(moment.queue)
    if len(shape) != 3 or shape[0] != count or shape[2] != space.width or not _whole(moment.lengths, count):
        raise BadStep(f"a perturbation must return a queue [{count},K,{space.width}] and {count} whole lengths")
    if moment.lengths.min() < 0 or moment.lengths.max() > shape[1]:
        raise BadStep(f"a perturbation must return lengths within 0..{shape[1]}, got {moment.lengths.tolist()}")
    _check_inside(moment.queue, moment.lengths, space, {})
    return moment


def _whole(numbers: np.ndarray, count: int) -> bool:
    return numbers.shape == (count,) and np.issubdtype(numbers.dtype, np.integer)


def _check_inside(actions: np.ndarray, lengths: np.ndarray, space: Space, errors: dict[int, str]) -> None:
    """Refuse a planned action outside the space; what is not executed may be anything."""
    inside = space.contains(actions)
    if inside.all():
        return
    used = np.arange(actions.shape[1]) < lengths[:, None]
    used[list(errors)] = False
    for row, step in np.argwhere(used & ~inside):
        raise BadDecision(f"action {actions[row, step].tolist()} at step {step} is outside the action space")
