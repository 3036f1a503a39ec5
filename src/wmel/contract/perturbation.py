"""The contract of perturbations: each occurs once per episode, at a step that the episode seed determines."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from wmel.contract.environment import Environment
from wmel.errors import require, require_whole
from wmel.randomness import Streams
from wmel.renamed import old_names

FROM_STEP = " from step "  # between the name of a perturbation and a fixed start


@dataclass(frozen=True, eq=False)
class PendingStep:
    """Episodes before their next action: the current plan exists, and nothing of this step has been executed."""

    states: np.ndarray  # [B,S]
    queue: np.ndarray  # [B,K,A], the next action first
    lengths: np.ndarray  # [B], actions left in the queue; with 0 the policy decides again in this step
    last_action: np.ndarray  # [B,A]
    since: np.ndarray  # [B], steps since the perturbation began, 0 at its first step


@dataclass(frozen=True, eq=False)
class Delivery:
    """Actions that are about to be executed."""

    actions: np.ndarray  # [B,A]
    since: np.ndarray  # [B]
    carried: dict[str, np.ndarray]


class Perturbation(Protocol):
    """An effect on the given episodes at each step of its window."""

    @property
    def name(self) -> str: ...

    @property
    def window(self) -> int | None:
        """The number of steps it lasts. None: to the end of the episode."""
        ...

    def check(self, environment: Environment) -> None:
        """Raises BadInput for an environment that does not support the perturbation."""
        ...

    def carry(self, environment: Environment, count: int) -> dict[str, np.ndarray]:
        """The initial arrays [B,...] of `Delivery.carried`, which `deliver` receives and returns at every step."""
        ...

    def sense(self, observations: np.ndarray, since: np.ndarray, streams: Streams) -> np.ndarray:
        """The observations [B,O] that the policy receives."""
        ...

    def strike(self, environment: Environment, pending: PendingStep, streams: Streams) -> PendingStep:
        """The perturbed step. If a queue becomes empty, the policy decides again in this step."""
        ...

    def deliver(self, environment: Environment, delivery: "Delivery") -> "Delivery":
        """The actions that are executed. It is called after any new decision."""
        ...


@dataclass(frozen=True)
class Disturbance:
    """A perturbation and the probability that it occurs in an episode."""

    perturbation: Perturbation
    probability: float
    step: int | None = None  # the step at which it begins; None: sampled from the episode seed

    def __post_init__(self):
        if self.step is not None:
            require_whole(self.step, "the step of a perturbation", at_least=0)
        require(0 <= self.probability <= 1, "the probability of a perturbation must lie in [0, 1]", self.probability)

    def check(self, environment: Environment, steps: int) -> None:
        """Raises BadInput if it does not fit the environment, or begins after the last of the steps of an episode."""
        self.perturbation.check(environment)
        if self.step is not None:
            require(self.step < steps, f"the step of a perturbation must lie in an episode of {steps} steps", self.step)


__getattr__ = old_names(__name__)
