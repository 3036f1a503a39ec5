"""One step of the loop: the rules, rewards, sampled decisions, perturbations, and checks of what parts return."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np

from wmel.arrays import Array, join_rows, take_rows
from wmel.contract.criterion import Criterion, Stop
from wmel.contract.environment import Environment, Recoverable, Space
from wmel.contract.perturbation import Disturbance, PendingStep, Perturbation
from wmel.contract.policy import Decision, Percept, Policy
from wmel.errors import BadDecision, BadStep, describe_error, locate_error
from wmel.parts import implements
from wmel.perturbations import perturb_observations
from wmel.randomness import Streams

NEVER = np.iinfo(np.int64).max
Result = TypeVar("Result")


@dataclass(frozen=True)
class Rules:
    """The settings that all episodes of a run share."""

    environment: Environment
    policy: Policy
    criterion: Criterion | None
    stop: Stop
    max_steps: int
    disturbance: Disturbance | None = None


@dataclass(frozen=True, eq=False)
class PolicyOutput:
    """The result of one policy query: the memory, and a decision for the rows that needed one."""

    memory: dict[str, Array] | None
    planning: np.ndarray  # [b], positions of those rows among the queried rows
    decision: Decision | None


@dataclass(frozen=True, eq=False)
class StepResult:
    """The states after a step, and the quantities of the step."""

    states: np.ndarray  # [B,S]
    quantities: dict[str, np.ndarray]  # each [B]


def join_results(parts: list[StepResult]) -> StepResult | None:
    """The results of several rows as one; None if no row succeeded."""
    if not parts:
        return None
    return StepResult(np.concatenate([part.states for part in parts]), join_rows([part.quantities for part in parts]))


class RewardBuffer:
    """Rewards [B, steps so far]. The capacity doubles as needed."""

    def __init__(self, episodes: int):
        self.rewards = np.zeros((episodes, 0))

    def add(self, rows: np.ndarray, step: int, rewards: np.ndarray) -> None:
        """Stores the rewards of some episodes at a step. Steps count from 1."""
        if step > self.rewards.shape[1]:
            self.rewards = np.concatenate([self.rewards, np.zeros((len(self.rewards), step))], axis=1)
        self.rewards[rows, step - 1] = rewards

    def close(self, columns: dict[str, np.ndarray], rows: np.ndarray, steps: int, *, whole: bool) -> None:
        """Writes the rewards of episodes that end after `steps` steps, and their return if the episodes are whole."""
        if not self.rewards.size:
            return
        for row in rows:
            columns["rewards"][row] = self.rewards[row, :steps].copy()
        if whole:
            columns["return"][rows] = self.rewards[rows, :steps].sum(axis=1)


@dataclass(frozen=True, eq=False)
class SampledDecision:
    """The inputs of one decision of one episode."""

    episode: int
    percept: Percept
    memory: dict[str, Array] | None
    streams: Streams


@dataclass
class DecisionSample:
    """An evenly spaced sample of the decisions of a run: all of them, then every second, fourth, eighth, and so on.

    Its size is at least `target` if the run has that many decisions, and always below twice `target`.
    """

    target: int
    decisions: list[SampledDecision] = field(default_factory=list)
    stride: int = 1
    offered: int = 0

    def offer(self, episodes: np.ndarray, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> None:
        """Adds the decisions of a batch that belong to the sample. `episodes` [B] are rows of the table."""
        for row in range(len(episodes)) if self.target else ():
            if self.offered % self.stride == 0:
                one = np.array([row])
                self.decisions.append(
                    SampledDecision(int(episodes[row]), percept.rows(one), take_rows(memory, one), streams.rows(one))
                )
            self.offered += 1
            if len(self.decisions) >= 2 * self.target:
                self.decisions, self.stride = self.decisions[::2], 2 * self.stride


def schedule_perturbations(disturbance: Disturbance | None, seeds: np.ndarray, max_steps: int) -> np.ndarray:
    """The step [B] at which each episode is perturbed, or NEVER: as given, else uniform in 1..max_steps//2.

    It depends on the episode seed alone, so all arms of a comparison have the same schedule.
    """
    steps = np.full(len(seeds), NEVER)
    if disturbance is None:
        return steps
    chance, position = Streams(seeds, np.zeros_like(seeds)).uniforms("schedule", (2,))[0].T
    latest = max(1, max_steps // 2)
    sampled = 1 + (position * latest).astype(np.int64)
    return np.where(chance < disturbance.probability, sampled if disturbance.step is None else disturbance.step, steps)


def perceive(
    perturbation: Perturbation,
    environment: Environment,
    states: np.ndarray,
    since: np.ndarray,
    streams: Streams,
) -> tuple[np.ndarray, np.ndarray]:
    """Perturbed observations [B,O], and the states [B,S] for policies that read the state.

    Where an observation is perturbed, the state is recovered from it if the environment supports this. Otherwise it is
    the true state, and a gap to an oracle also measures the perturbed sensing.
    """
    observations = environment.observe(states)
    perceived = perturb_observations(perturbation, observations, since, streams)
    changed = np.flatnonzero((perceived != observations).any(axis=1))
    if len(changed) and implements(environment, Recoverable):
        states = states.copy()
        states[changed] = environment.recover(perceived[changed])
    return perceived, states


def check_rows(array: np.ndarray, count: int, what: str) -> np.ndarray:
    """The array [B,...]. Raises BadStep unless it has one row per episode."""
    shape = np.shape(array)
    if len(shape) != 2 or shape[0] != count:
        raise BadStep(f"an environment must return {what} [{count},width], got shape {shape}")
    return array


def check_quantities(quantities: dict[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
    """The quantities. Raises BadStep unless each has one number per episode."""
    for name, numbers in quantities.items():
        if np.shape(numbers) != (count,):
            raise BadStep(f"quantity '{name}' must have the shape ({count},), got {np.shape(numbers)}")
    return quantities


def find_not_finite(result: StepResult) -> dict[int, str]:
    """The rows of a step whose state or quantities are not finite, each with what is not."""
    parts = {f"quantity '{name}'": numbers[:, None] for name, numbers in result.quantities.items()}
    found: dict[int, str] = {}
    for name, numbers in {"the state": result.states, **parts}.items():
        for row in np.flatnonzero(~np.isfinite(numbers).all(axis=1)):
            value = numbers[row][~np.isfinite(numbers[row])][0]
            found.setdefault(int(row), f"BadStep: {name} is {value} after the step")
    return found


def check_memory(memory: dict[str, Array] | None, count: int) -> dict[str, Array] | None:
    """The memory. Raises BadDecision unless each of its arrays has one row per episode."""
    for name, array in (memory or {}).items():
        if len(array) != count:
            raise BadDecision(f"a policy's memory must have {count} rows, and '{name}' has {len(array)}")
    return memory


def check_decision(decision: Decision, space: Space, count: int, observed: dict[str, Array] | None) -> Decision:
    """The decision with its numbers as arrays, and with the memory of `observe` if it has none.

    Raises BadDecision for invalid shapes, lengths or rows of errors, for actions outside the space, and for a memory
    with other arrays than that of `observe`.
    """
    actions, lengths = np.asarray(decision.actions), np.asarray(decision.lengths)
    if actions.ndim != 3 or len(actions) != count or actions.shape[2] != space.width:
        raise BadDecision(f"a policy must return actions [{count},K,{space.width}], got shape {actions.shape}")
    longest = actions.shape[1]
    if not _has_integers(lengths, count) or lengths.min() < 0 or lengths.max() > longest:
        raise BadDecision(f"a policy must return {count} whole lengths within 0..{longest}, got {lengths.tolist()}")
    model_steps = np.asarray(decision.model_steps)
    if not _has_integers(model_steps, count):
        raise BadDecision(f"a policy must return {count} whole numbers of model steps, got {decision.model_steps!r}")
    for row, message in decision.errors.items():
        if row not in range(count) or not message:
            raise BadDecision(f"errors must map rows within 0..{count - 1} to messages, got {{{row!r}: {message!r}}}")
    memory = observed if decision.memory is None else check_memory(decision.memory, count)
    if (memory or {}).keys() != (observed or {}).keys():
        raise BadDecision(
            f"act must return the arrays of observe in its memory ({list(observed or {})}), got {list(memory or {})}"
        )
    _check_inside(actions, lengths, space, decision.errors)
    return replace(decision, actions=actions, lengths=lengths, model_steps=model_steps, memory=memory)


def check_pending_step(pending: PendingStep, space: Space, count: int) -> PendingStep:
    """The step that a perturbation returned. Raises BadStep if the episodes cannot continue from it."""
    check_rows(pending.states, count, "states")
    shape = np.shape(pending.queue)
    if len(shape) != 3 or shape[0] != count or shape[2] != space.width or not _has_integers(pending.lengths, count):
        raise BadStep(f"a perturbation must return a queue [{count},K,{space.width}] and {count} whole lengths")
    if pending.lengths.min() < 0 or pending.lengths.max() > shape[1]:
        raise BadStep(f"a perturbation must return lengths within 0..{shape[1]}, got {pending.lengths.tolist()}")
    _check_inside(pending.queue, pending.lengths, space, {})
    return pending


def _has_integers(numbers: np.ndarray, count: int) -> bool:
    return numbers.shape == (count,) and np.issubdtype(numbers.dtype, np.integer)


def _check_inside(actions: np.ndarray, lengths: np.ndarray, space: Space, errors: dict[int, str]) -> None:
    """Raises BadDecision for an action outside the space. Actions that are not executed are not checked."""
    inside = space.contains(actions)
    if inside.all():
        return
    used = np.arange(actions.shape[1]) < lengths[:, None]
    used[list(errors)] = False
    for row, step in np.argwhere(used & ~inside):
        raise BadDecision(f"action {actions[row, step].tolist()} at step {step} is outside the action space")


@dataclass(frozen=True, eq=False)
class BatchOutcome(Generic[Result]):
    """The results of a batched call, each for some rows, and the error of each row that failed."""

    pieces: list[tuple[np.ndarray, Result]]
    errors: dict[int, str]
    places: dict[str, str] = field(default_factory=dict)  # error -> the line of the user's code that raised it

    @property
    def rows(self) -> np.ndarray:
        """The rows that succeeded, in order."""
        return np.concatenate([np.empty(0, np.intp), *(rows for rows, _ in self.pieces)])


def attribute_errors(call: Callable[[np.ndarray], Result], rows: np.ndarray) -> BatchOutcome[Result]:
    """Calls the function on all rows. If it fails, calls it on each half, down to the single rows that fail."""
    try:
        return BatchOutcome([(rows, call(rows))], {})
    except Exception as error:
        if len(rows) <= 1:
            message, place = describe_error(error), locate_error(error)
            return BatchOutcome([], {int(row): message for row in rows}, {message: place} if place else {})
    middle = len(rows) // 2
    first, second = attribute_errors(call, rows[:middle]), attribute_errors(call, rows[middle:])
    return BatchOutcome(first.pieces + second.pieces, first.errors | second.errors, second.places | first.places)
