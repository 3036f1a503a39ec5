"""What a run goes by, and what one step of it yields."""

from dataclasses import dataclass

import numpy as np

from wmel.arrays import Array
from wmel.contract.criterion import Criterion, Stop
from wmel.contract.environment import Environment
from wmel.contract.perturbation import Disturbance
from wmel.contract.policy import Decision, Policy


@dataclass(frozen=True)
class Rules:
    """What is the same for every episode of a run."""

    environment: Environment
    policy: Policy
    criterion: Criterion | None
    stop: Stop
    max_steps: int
    disturbance: Disturbance | None = None


@dataclass(frozen=True, eq=False)
class Thought:
    """What the policy made of one step: its memory, and a decision for the rows that needed one."""

    memory: dict[str, Array] | None
    planning: np.ndarray  # [b] places of those rows among the rows thought about
    decision: Decision | None


@dataclass(frozen=True, eq=False)
class Reached:
    """The states a step led to, and its named numbers."""

    states: np.ndarray  # [B,S]
    quantities: dict[str, np.ndarray]  # each [B]
