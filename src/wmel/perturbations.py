"""The built-in perturbations: of the environment, of actions, of observations, or several at once; and windows."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np

from wmel.arrays import put_rows
from wmel.contract.environment import Environment, Perturbable
from wmel.contract.perturbation import Delivery, PendingStep, Perturbation
from wmel.errors import BadInput
from wmel.parts import Meaning, check_settings, implements, refuse_unknown_settings, setting
from wmel.randomness import Streams, normals
from wmel.settings import MAX_COUNT


class NoEffect:
    """A mixin with a window of one step and methods of the perturbation contract that change nothing."""

    @property
    def window(self) -> int | None:
        return 1

    def check(self, environment: Environment) -> None:
        return None

    def carry(self, environment: Environment, count: int) -> dict[str, np.ndarray]:
        return {}

    def sense(self, observations: np.ndarray, since: np.ndarray, streams: Streams) -> np.ndarray:
        return observations

    def strike(self, environment: Environment, pending: PendingStep, streams: Streams) -> PendingStep:
        return pending

    def deliver(self, environment: Environment, delivery: Delivery) -> Delivery:
        return delivery


@dataclass(frozen=True)
class EnvPerturbation(NoEffect):
    """Applies the perturbation that the environment defines."""

    @property
    def name(self) -> str:
        return "env-default"

    def check(self, environment: Environment) -> None:
        if not implements(environment, Perturbable):
            raise BadInput(f"{environment.spec.name} has no perturbation of its own: env-default cannot be used")

    def strike(self, environment: Environment, pending: PendingStep, streams: Streams) -> PendingStep:
        assert implements(environment, Perturbable)
        return replace(pending, states=environment.perturb(pending.states, streams))


HoldSteps = Annotated[int, Meaning("steps for which the action is held", at_least=0, cap=MAX_COUNT)]


@refuse_unknown_settings
@dataclass(frozen=True)
class DropNextActions(NoEffect):
    """Removes the next k actions from the current plan. No time passes. If none is left, the policy decides again."""

    k: int = setting(1, "planned actions that are dropped", at_least=0, cap=MAX_COUNT)

    def __post_init__(self):
        check_settings(self)

    @property
    def name(self) -> str:
        return f"drop-next-{self.k}"

    def strike(self, environment: Environment, pending: PendingStep, streams: Streams) -> PendingStep:
        queue = pending.queue[:, self.k :]
        if not queue.shape[1]:
            queue = pending.queue[:, :1]
        return replace(pending, queue=queue, lengths=np.maximum(pending.lengths - self.k, 0))


@refuse_unknown_settings
@dataclass(frozen=True)
class HoldNextActions(NoEffect):
    """Replaces the next k actions of the current plan by the idle or the last action. Time passes, unlike in a drop."""

    k: int = setting(1, "steps for which the action is held", at_least=0, cap=MAX_COUNT)
    hold: Literal["idle", "last"] = setting("idle", "the action that is held")

    def __post_init__(self):
        check_settings(self)

    @property
    def name(self) -> str:
        return f"hold-{self.hold}-{self.k}"

    def check(self, environment: Environment) -> None:
        if self.hold == "idle" and self.k:
            _idle_actions(environment, 1, self.name)

    def strike(self, environment: Environment, pending: PendingStep, streams: Streams) -> PendingStep:
        if not self.k:
            return pending
        count = len(pending.lengths)
        actions = _idle_actions(environment, count, self.name) if self.hold == "idle" else pending.last_action
        queue = np.concatenate([np.repeat(actions[:, None], self.k, axis=1), pending.queue[:, self.k :]], axis=1)
        return replace(pending, queue=queue.astype(pending.queue.dtype), lengths=np.maximum(pending.lengths, self.k))


def hold_idle(k: HoldSteps = 1) -> HoldNextActions:
    """The idle action for k steps."""
    return HoldNextActions(k, "idle")


def hold_last(k: HoldSteps = 1) -> HoldNextActions:
    """The last action for k more steps."""
    return HoldNextActions(k, "last")


@refuse_unknown_settings
@dataclass(frozen=True)
class ActionDelay(NoEffect):
    """Delays every action by `steps`. The idle action is executed until the first one arrives."""

    steps: int = setting(1, "steps by which actions are delayed", at_least=0, cap=MAX_COUNT)
    window: int | None = setting(None, "steps it lasts; none: to the end of the episode", at_least=1)

    def __post_init__(self):
        check_settings(self)

    @property
    def name(self) -> str:
        return f"action-delay-{self.steps}" + ("" if self.window is None else f"@{self.window}")

    def check(self, environment: Environment) -> None:
        if self.steps:
            _idle_actions(environment, 1, self.name)

    def carry(self, environment: Environment, count: int) -> dict[str, np.ndarray]:
        if not self.steps:
            return {}
        idle = _idle_actions(environment, count, self.name).astype(environment.spec.actions.dtype)
        return {"line": np.repeat(idle[:, None], self.steps, axis=1)}

    def deliver(self, environment: Environment, delivery: Delivery) -> Delivery:
        if not self.steps:
            return delivery
        line = delivery.carried["line"]
        shifted = np.concatenate([line[:, 1:], delivery.actions[:, None].astype(line.dtype)], axis=1)
        return replace(delivery, actions=line[:, 0], carried={"line": shifted})


def _idle_actions(environment: Environment, count: int, name: str) -> np.ndarray:
    """A batch [B,A] of idle actions. Raises BadInput for an environment without an idle action."""
    if environment.spec.idle is None:
        raise BadInput(f"{name} requires an idle action, and {environment.spec.name} has none")
    return np.repeat(np.asarray(environment.spec.idle)[None], count, axis=0)


@refuse_unknown_settings
@dataclass(frozen=True)
class ObservationNoise(NoEffect):
    """Independent normal noise on every component at every step of the window."""

    sigma: float = setting(0.1, "standard deviation of the noise", at_least=0, below=np.inf)
    window: int | None = setting(None, "steps it lasts; none: to the end of the episode", at_least=1)

    def __post_init__(self):
        check_settings(self)

    @property
    def name(self) -> str:
        return f"observation-noise-{self.sigma:g}" + ("" if self.window is None else f"@{self.window}")

    def sense(self, observations: np.ndarray, since: np.ndarray, streams: Streams) -> np.ndarray:
        width = observations.shape[1]
        noise = normals(streams.uniforms("sense", (width + width % 2,))[0])[:, :width]
        return observations + self.sigma * noise


@dataclass(frozen=True, init=False)
class CompositePerturbation:
    """All parts begin at the same step. Each lasts for its own window."""

    parts: tuple[Perturbation, ...]

    def __init__(self, *parts: Perturbation):
        if not parts:
            raise BadInput("a composite perturbation requires at least one part, got none")
        object.__setattr__(self, "parts", parts)

    @property
    def name(self) -> str:
        return "composite:" + "+".join(part.name for part in self.parts)

    @property
    def window(self) -> int | None:
        windows = [part.window for part in self.parts]
        return None if None in windows else max(window for window in windows if window is not None)

    def check(self, environment: Environment) -> None:
        for part in self.parts:
            part.check(environment)

    def carry(self, environment: Environment, count: int) -> dict[str, np.ndarray]:
        return {
            f"{place}.{name}": array
            for place, part in enumerate(self.parts)
            for name, array in part.carry(environment, count).items()
        }

    def sense(self, observations: np.ndarray, since: np.ndarray, streams: Streams) -> np.ndarray:
        for part in self.parts:
            observations = perturb_observations(part, observations, since, streams)
        return observations

    def strike(self, environment: Environment, pending: PendingStep, streams: Streams) -> PendingStep:
        for part in self.parts:
            pending = perturb_step(part, environment, pending, streams)
        return pending

    def deliver(self, environment: Environment, delivery: Delivery) -> Delivery:
        carried = dict(delivery.carried)
        for place, part in enumerate(self.parts):
            own = {name.split(".", 1)[1]: carried[name] for name in carried if name.split(".", 1)[0] == str(place)}
            delivery = perturb_actions(part, environment, replace(delivery, carried=own))
            carried |= {f"{place}.{name}": array for name, array in delivery.carried.items()}
        return replace(delivery, carried=carried)


def rows_in_window(perturbation: Perturbation, since: np.ndarray) -> np.ndarray:
    """The rows [b] in the window, given the steps since the perturbation began [B], which are negative before it."""
    in_window = since >= 0 if perturbation.window is None else (since >= 0) & (since < perturbation.window)
    return np.flatnonzero(in_window)


def perturb_observations(
    perturbation: Perturbation, observations: np.ndarray, since: np.ndarray, streams: Streams
) -> np.ndarray:
    """The observations [B,O] that the policy receives."""
    rows = rows_in_window(perturbation, since)
    if not len(rows):
        return observations
    perturbed = observations.astype(np.result_type(observations, np.float32))  # integers plus noise are not integers
    perturbed[rows] = perturbation.sense(perturbed[rows], since[rows], streams.rows(rows))
    return perturbed


def perturb_step(
    perturbation: Perturbation, environment: Environment, pending: PendingStep, streams: Streams
) -> PendingStep:
    """The pending step after `strike`, with all queues padded to one length."""
    rows = rows_in_window(perturbation, pending.since)
    if not len(rows):
        return pending
    part = perturbation.strike(environment, _select(pending, rows), streams.rows(rows))
    room = max(pending.queue.shape[1], part.queue.shape[1])
    states, lengths = pending.states.copy(), pending.lengths.copy()
    states[rows], lengths[rows] = part.states, part.lengths
    queue = _pad(pending.queue, room)
    queue[rows] = _pad(part.queue, room)
    return replace(pending, states=states, queue=queue, lengths=lengths)


def perturb_actions(perturbation: Perturbation, environment: Environment, delivery: Delivery) -> Delivery:
    """The actions that are executed, after `deliver`."""
    rows = rows_in_window(perturbation, delivery.since)
    if not len(rows):
        return delivery
    carried = {name: array[rows] for name, array in delivery.carried.items()}
    part = perturbation.deliver(environment, Delivery(delivery.actions[rows], delivery.since[rows], carried))
    actions = delivery.actions.copy()
    actions[rows] = part.actions
    return replace(delivery, actions=actions, carried=put_rows(delivery.carried, rows, part.carried))


def _select(pending: PendingStep, rows: np.ndarray) -> PendingStep:
    return PendingStep(
        pending.states[rows],
        pending.queue[rows],
        pending.lengths[rows],
        pending.last_action[rows],
        pending.since[rows],
    )


def _pad(queue: np.ndarray, room: int) -> np.ndarray:
    """A copy of the queue [B,K,A] with K increased to `room`."""
    count, length, width = queue.shape
    return np.concatenate([queue, np.zeros((count, room - length, width), queue.dtype)], axis=1)
