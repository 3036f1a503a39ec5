"""For some steps the idle action, or the last one, runs instead of the plan."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np

from wmel.contract.environment import Environment
from wmel.contract.perturbation import Moment
from wmel.errors import BadInput
from wmel.parts import Meaning, check_settings, refuse_unknown_settings, setting
from wmel.perturbations.window import Unchanged
from wmel.randomness import Streams

Held = Annotated[int, Meaning("steps for which the action is held", at_least=0)]


def idle_actions(environment: Environment, count: int, name: str) -> np.ndarray:
    """A batch [B,A] of idle actions; an environment without one is refused in the perturbation's name."""
    if environment.spec.idle is None:
        raise BadInput(f"{name} needs an idle action, and {environment.spec.name} has none")
    return np.repeat(np.asarray(environment.spec.idle)[None], count, axis=0)


@refuse_unknown_settings
@dataclass(frozen=True)
class HoldNextActions(Unchanged):
    """Unlike a drop, time passes: the next k actions of the plan are replaced, the rest of it follows."""

    k: int = setting(1, "steps for which the action is held", at_least=0)
    hold: Literal["idle", "last"] = setting("idle", "the action that is held")

    def __post_init__(self):
        check_settings(self)

    @property
    def window(self) -> int | None:
        return 1

    @property
    def name(self) -> str:
        return f"hold-{self.hold}-{self.k}"

    def check(self, environment: Environment) -> None:
        if self.hold == "idle" and self.k:
            idle_actions(environment, 1, self.name)

    def strike(self, environment: Environment, moment: Moment, streams: Streams) -> Moment:
        if not self.k:
            return moment
        count = len(moment.lengths)
        held = idle_actions(environment, count, self.name) if self.hold == "idle" else moment.last_action
        queue = np.concatenate([np.repeat(held[:, None], self.k, axis=1), moment.queue[:, self.k :]], axis=1)
        return replace(moment, queue=queue.astype(moment.queue.dtype), lengths=np.maximum(moment.lengths, self.k))


def hold_idle(k: Held = 1) -> HoldNextActions:
    """The idle action for k steps."""
    return HoldNextActions(k, "idle")


def hold_last(k: Held = 1) -> HoldNextActions:
    """The last action for k more steps."""
    return HoldNextActions(k, "last")
