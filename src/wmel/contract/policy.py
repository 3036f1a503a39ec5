"""A policy turns what it perceives into actions to execute."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np

from wmel.arrays import Array
from wmel.randomness import Streams


@dataclass(frozen=True, eq=False)
class Percept:
    """What a batch of episodes shows at one step."""

    observation: np.ndarray  # [B,O]
    goal: np.ndarray  # [B,G]
    state: np.ndarray | None  # [B,S], privileged: only for what declares that it reads it
    last_action: np.ndarray  # [B,A]; zeros before the first step
    steps_left: np.ndarray  # [B]

    def __len__(self) -> int:
        return len(self.observation)

    def rows(self, index: np.ndarray) -> "Percept":
        """The percept of some of the episodes."""
        return Percept(
            self.observation[index],
            self.goal[index],
            None if self.state is None else self.state[index],
            self.last_action[index],
            self.steps_left[index],
        )

    def visible_to(self, reads: Literal["observation", "state"]) -> "Percept":
        """The percept without the true state, unless the reader declares that it reads it."""
        return self if reads == "state" else replace(self, state=None)


@dataclass(frozen=True, eq=False)
class Decision:
    """Actions to execute in order before the next decision; a row of length 0 ends its episode as a failure."""

    actions: np.ndarray  # [B,K,A]
    lengths: np.ndarray  # [B], at most K
    memory: dict[str, Array] | None  # the arrays `observe` made, changed at will; None: as `observe` left them
    model_steps: np.ndarray  # [B]
    errors: dict[int, str] = field(default_factory=dict)  # row -> why that row has no decision


class Policy(Protocol):
    """Sees every step, acts when its last decision has been executed; keeps nothing but the memory it is handed."""

    @property
    def name(self) -> str: ...

    @property
    def reads(self) -> Literal["observation", "state"]:
        """Whether the true state is shown to it; reports say so."""
        ...

    @property
    def compute_per_plan_call(self) -> int | None:
        """Model steps one decision is declared to cost, where it costs any."""
        ...

    @property
    def settings(self) -> dict[str, Any]:
        """What it was built with, for the record."""
        ...

    def observe(self, percept: Percept, memory: dict[str, Array] | None) -> dict[str, Array] | None: ...

    def act(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision: ...
