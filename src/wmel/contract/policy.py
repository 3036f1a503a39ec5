"""The contract of policies: a policy maps what it perceives to actions."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np

from wmel.arrays import Array
from wmel.randomness import Streams


@dataclass(frozen=True, eq=False)
class Percept:
    """What a policy perceives of a batch of episodes at one step."""

    observation: np.ndarray  # [B,O]
    goal: np.ndarray  # [B,G]
    state: np.ndarray | None  # [B,S], the true state; only for parts that declare `reads = "state"`
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
        """The percept, without the true state unless `reads` is "state"."""
        return self if reads == "state" else replace(self, state=None)


@dataclass(frozen=True, eq=False)
class Decision:
    """Actions to execute in order before the next decision. A length of 0 ends the episode as a failure."""

    actions: np.ndarray  # [B,K,A]
    lengths: np.ndarray  # [B], at most K
    memory: dict[str, Array] | None  # the arrays of `observe`, possibly changed; None: unchanged
    model_steps: np.ndarray  # [B]
    errors: dict[int, str] = field(default_factory=dict)  # row -> why it has no decision


class Policy(Protocol):
    """Observes every step and acts when its last decision has been executed. Its only state is the memory argument."""

    @property
    def name(self) -> str: ...

    @property
    def reads(self) -> Literal["observation", "state"]:
        """Whether it reads the true state. Reports state this."""
        ...

    @property
    def compute_per_plan_call(self) -> int | None:
        """The declared number of model steps per decision. None: it uses no model."""
        ...

    @property
    def settings(self) -> dict[str, Any]:
        """Its settings, for the record."""
        ...

    def observe(self, percept: Percept, memory: dict[str, Array] | None) -> dict[str, Array] | None: ...

    def act(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision: ...


class StatelessPolicy:
    """A mixin for policies without memory, settings and a model."""

    compute_per_plan_call: int | None = None

    @property
    def settings(self) -> dict[str, Any]:
        return {}

    def observe(self, percept: Percept, memory: dict[str, Array] | None) -> dict[str, Array] | None:
        return None
