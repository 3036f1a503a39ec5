"""action-delay-K: actions arrive K steps late."""

from dataclasses import dataclass, replace

import numpy as np

from wmel.contract.environment import Environment
from wmel.contract.perturbation import Moment
from wmel.errors import require_whole
from wmel.perturbations.idle import idle_actions
from wmel.perturbations.unchanged import Unchanged
from wmel.randomness import Streams


@dataclass(frozen=True)
class ActionDelay(Unchanged):
    """From its step on every action waits in a line of `steps`; until the first arrives, the idle action runs."""

    steps: int = 1
    window: int | None = None

    def __post_init__(self):
        require_whole(self.steps, "the steps of a delay", at_least=0)
        if self.window is not None:
            require_whole(self.window, "the window of a perturbation")

    @property
    def name(self) -> str:
        return f"action-delay-{self.steps}"

    def check(self, environment: Environment) -> None:
        if self.steps:
            idle_actions(environment, 1, self.name)

    def carry(self, environment: Environment, count: int) -> dict[str, np.ndarray]:
        if not self.steps:
            return {}
        return {"line": np.repeat(idle_actions(environment, count, self.name)[:, None], self.steps, axis=1)}

    def strike(self, environment: Environment, moment: Moment, streams: Streams) -> Moment:
        if not self.steps:
            return moment
        line, queue = moment.carried["line"], moment.queue.copy()
        queue[:, 0] = line[:, 0]
        return replace(
            moment, queue=queue, carried={"line": np.concatenate([line[:, 1:], moment.queue[:, :1]], axis=1)}
        )
