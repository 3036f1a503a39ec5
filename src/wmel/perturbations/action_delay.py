"""action-delay-K: actions arrive K steps late."""

from dataclasses import dataclass, replace

import numpy as np

from wmel.contract.environment import Environment
from wmel.contract.perturbation import Delivery
from wmel.errors import require_whole
from wmel.perturbations.idle import idle_actions
from wmel.perturbations.unchanged import Unchanged


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
        return f"action-delay-{self.steps}" + ("" if self.window is None else f"@{self.window}")

    def check(self, environment: Environment) -> None:
        if self.steps:
            idle_actions(environment, 1, self.name)

    def carry(self, environment: Environment, count: int) -> dict[str, np.ndarray]:
        if not self.steps:
            return {}
        idle = idle_actions(environment, count, self.name).astype(environment.spec.actions.dtype)
        return {"line": np.repeat(idle[:, None], self.steps, axis=1)}

    def deliver(self, environment: Environment, delivery: Delivery) -> Delivery:
        if not self.steps:
            return delivery
        line = delivery.carried["line"]
        longer = np.concatenate([line[:, 1:], delivery.actions[:, None].astype(line.dtype)], axis=1)
        return replace(delivery, actions=line[:, 0], carried={"line": longer})
