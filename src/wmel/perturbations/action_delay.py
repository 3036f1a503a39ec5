"""action-delay-K: actions arrive K steps late."""

from dataclasses import dataclass, replace

import numpy as np

from wmel.contract.environment import Environment
from wmel.contract.perturbation import Delivery
from wmel.parts import check_settings, refuse_unknown_settings, setting
from wmel.perturbations.hold_next_actions import idle_actions
from wmel.perturbations.window import Unchanged


@refuse_unknown_settings
@dataclass(frozen=True)
class ActionDelay(Unchanged):
    """From its step on every action waits in a line of `steps`; until the first arrives, the idle action runs."""

    steps: int = setting(1, "steps by which actions arrive late", at_least=0)
    window: int | None = setting(None, "steps it lasts; none: to the end of the episode", at_least=1)

    def __post_init__(self):
        check_settings(self)

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
