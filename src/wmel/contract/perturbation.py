"""A perturbation strikes an episode once, at a step that belongs to its seed: every arm sees the same one."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from wmel.contract.environment import Environment
from wmel.errors import require, require_whole
from wmel.randomness import Streams


@dataclass(frozen=True, eq=False)
class Moment:
    """Episodes just before their next action: the plan in force exists, nothing of this step has been executed."""

    states: np.ndarray  # [B,S]
    queue: np.ndarray  # [B,K,A], the next action first
    lengths: np.ndarray  # [B], how many of them are left; 0 makes the policy decide again in this step
    last_action: np.ndarray  # [B,A]
    since: np.ndarray  # [B], steps since the perturbation's own step: 0 at it


@dataclass(frozen=True, eq=False)
class Delivery:
    """Actions on their way to being executed."""

    actions: np.ndarray  # [B,A]
    since: np.ndarray  # [B]
    carried: dict[str, np.ndarray]


class Perturbation(Protocol):
    """What happens to the episodes it is called with, and to no others, at each step of its window."""

    @property
    def name(self) -> str: ...

    @property
    def window(self) -> int | None:
        """Steps it lasts from its step on; None to the end of the episode."""
        ...

    def check(self, environment: Environment) -> None:
        """Refuse an environment in which this cannot happen."""
        ...

    def carry(self, environment: Environment, count: int) -> dict[str, np.ndarray]:
        """The arrays [B,...] that `deliver` is handed back at every step, as they are at the start."""
        ...

    def sense(self, observations: np.ndarray, since: np.ndarray, streams: Streams) -> np.ndarray:
        """Observations [B,O] as the policy will see them."""
        ...

    def strike(self, environment: Environment, moment: Moment, streams: Streams) -> Moment:
        """The moment as it goes on; an emptied queue makes the policy decide again in this step."""
        ...

    def deliver(self, environment: Environment, delivery: "Delivery") -> "Delivery":
        """The actions that arrive, after any new decision and right before they are executed."""
        ...


@dataclass(frozen=True)
class Disturbance:
    """A perturbation and how likely an episode is to meet it."""

    perturbation: Perturbation
    probability: float
    step: int | None = None  # at which it strikes; None: drawn by the episode's seed

    def __post_init__(self):
        if self.step is not None:
            require_whole(self.step, "the step of a perturbation", at_least=0)
        require(0 <= self.probability <= 1, "the probability of a perturbation must lie in [0, 1]", self.probability)
