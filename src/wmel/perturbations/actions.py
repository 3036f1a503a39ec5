"""Perturbations of actions: drop-next-K, hold-idle-K, hold-last-K and action-delay-K."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np

from wmel.contract.environment import Environment
from wmel.contract.perturbation import Delivery, PendingStep
from wmel.errors import BadInput
from wmel.parts import Meaning, check_settings, refuse_unknown_settings, setting
from wmel.perturbations.window import NoEffect
from wmel.randomness import Streams
from wmel.settings import MAX_COUNT

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
        held = _idle_actions(environment, count, self.name) if self.hold == "idle" else pending.last_action
        queue = np.concatenate([np.repeat(held[:, None], self.k, axis=1), pending.queue[:, self.k :]], axis=1)
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
