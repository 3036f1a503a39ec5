"""One step of the loop: its rules, its rewards, when a perturbation strikes, and checks of what parts return."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from wmel.arrays import Array
from wmel.contract.criterion import Criterion, Stop
from wmel.contract.environment import Environment, Recoverable, Space
from wmel.contract.perturbation import Disturbance, PendingStep, Perturbation
from wmel.contract.policy import Decision, Policy
from wmel.errors import BadDecision, BadStep, describe_error
from wmel.kinds import implements
from wmel.perturbations.window import perturb_observations
from wmel.randomness import Streams

NEVER = np.iinfo(np.int64).max
Result = TypeVar("Result")


@dataclass(frozen=True)
class Rules:
    """What is the same for every episode of a run."""

    environment: Environment
    policy: Policy
    criterion: Criterion | None
    stop: Stop
    max_steps: int
    disturbance: Disturbance | None = None


@dataclass(frozen=True, eq=False)
class Thought:
    """What the policy made of one step: its memory, and a decision for the rows that needed one."""

    memory: dict[str, Array] | None
    planning: np.ndarray  # [b] places of those rows among the rows thought about
    decision: Decision | None


@dataclass(frozen=True, eq=False)
class Reached:
    """The states a step led to, and its named numbers."""

    states: np.ndarray  # [B,S]
    quantities: dict[str, np.ndarray]  # each [B]


class Earnings:
    """Rewards [B, steps so far]; the room for them doubles as episodes go on."""

    def __init__(self, episodes: int):
        self.rewards = np.zeros((episodes, 0))

    def add(self, rows: np.ndarray, step: int, rewards: np.ndarray) -> None:
        """What some episodes earned at a step, counted from 1."""
        if step > self.rewards.shape[1]:
            self.rewards = np.concatenate([self.rewards, np.zeros((len(self.rewards), step))], axis=1)
        self.rewards[rows, step - 1] = rewards

    def close(self, columns: dict[str, np.ndarray], rows: np.ndarray, steps: int, *, whole: bool) -> None:
        """Write what episodes that end after so many steps have earned; whole episodes have a return."""
        if not self.rewards.size:
            return
        for row in rows:
            columns["rewards"][row] = self.rewards[row, :steps].copy()
        if whole:
            columns["return"][rows] = self.rewards[rows, :steps].sum(axis=1)


def strike_steps(disturbance: Disturbance | None, seeds: np.ndarray, max_steps: int) -> np.ndarray:
    """The step [B], as given or uniform in 1..max_steps//2, at which each episode is struck; NEVER where it is not.

    A function of the episode seed alone: every arm meets the same schedule.
    """
    steps = np.full(len(seeds), NEVER)
    if disturbance is None:
        return steps
    chance, place = Streams(seeds, np.zeros_like(seeds)).uniforms("schedule", (2,))[0].T
    latest = max(1, max_steps // 2)
    drawn = 1 + (place * latest).astype(np.int64)
    return np.where(chance < disturbance.probability, drawn if disturbance.step is None else disturbance.step, steps)


def seen_through(
    perturbation: Perturbation,
    environment: Environment,
    states: np.ndarray,
    since: np.ndarray,
    streams: Streams,
) -> tuple[np.ndarray, np.ndarray]:
    """Observations [B,O], and the states [B,S] that go with them for those who may read the state.

    Where the sensed observation differs from the true one, that is the state recovered from it, if the environment can
    tell; otherwise the true state, and the result holds a sensing gap besides the model's.
    """
    observations = environment.observe(states)
    seen = perturb_observations(perturbation, observations, since, streams)
    changed = np.flatnonzero((seen != observations).any(axis=1))
    if len(changed) and implements(environment, Recoverable):
        states = states.copy()
        states[changed] = environment.recover(seen[changed])
    return seen, states


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


def check_pending_step(pending: PendingStep, space: Space, count: int) -> PendingStep:
    """What a perturbation made of a pending, if it can go on."""
    check_rows(pending.states, count, "states")
    shape = np.shape(pending.queue)
    if len(shape) != 3 or shape[0] != count or shape[2] != space.width or not _whole(pending.lengths, count):
        raise BadStep(f"a perturbation must return a queue [{count},K,{space.width}] and {count} whole lengths")
    if pending.lengths.min() < 0 or pending.lengths.max() > shape[1]:
        raise BadStep(f"a perturbation must return lengths within 0..{shape[1]}, got {pending.lengths.tolist()}")
    _check_inside(pending.queue, pending.lengths, space, {})
    return pending


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


@dataclass(frozen=True, eq=False)
class Attributed(Generic[Result]):
    """What a batched call gave for the rows that worked, piece by piece, and what the others said."""

    pieces: list[tuple[np.ndarray, Result]]
    errors: dict[int, str]

    @property
    def rows(self) -> np.ndarray:
        """The rows that worked, in order."""
        return np.concatenate([np.empty(0, np.intp), *(rows for rows, _ in self.pieces)])


def attributed(call: Callable[[np.ndarray], Result], rows: np.ndarray) -> Attributed[Result]:
    """Call on all rows; if that fails, on each half, down to the rows that fail alone."""
    try:
        return Attributed([(rows, call(rows))], {})
    except Exception as error:
        if len(rows) <= 1:
            return Attributed([], {int(row): describe_error(error) for row in rows})
    middle = len(rows) // 2
    first, second = attributed(call, rows[:middle]), attributed(call, rows[middle:])
    return Attributed(first.pieces + second.pieces, first.errors | second.errors)
