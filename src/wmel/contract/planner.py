"""A planner is an optimiser over action sequences: it sees costs, bounds and random numbers, never a model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from wmel.arrays import Array
from wmel.contract.spaces import Space
from wmel.randomness import Streams


@dataclass(frozen=True, eq=False)
class CandidateCosts:
    """What each candidate would cost and how many of its actions are worth executing."""

    costs: Array  # [...] one per candidate
    lengths: Array  # [...]


@dataclass(frozen=True, eq=False)
class PlanningProblem:
    """One plan call for B episodes at once."""

    cost: Callable[[Array], CandidateCosts]  # candidates [B,N,H,A] -> their costs
    space: Space
    streams: Streams
    horizon: int
    like: Array  # candidates are made in the library and on the device of this array


@dataclass(frozen=True, eq=False)
class Plan:
    """The cheapest candidate of each row; a row without a finite candidate has cost inf."""

    actions: Array  # [B,H,A]
    lengths: Array  # [B]
    costs: Array  # [B]


@dataclass(frozen=True, eq=False)
class Remainder:
    """What is left of a row's last plan, moved up to the front; `lengths` of 0 where there is none."""

    actions: Array  # [B,H,A]
    lengths: Array  # [B]


class Planner(Protocol):
    @property
    def horizon(self) -> int: ...

    @property
    def evaluations(self) -> int:
        """Candidate sequences evaluated per plan call."""
        ...

    @property
    def warm_start(self) -> bool:
        """Whether the last plan's remainder competes in the next call."""
        ...

    def plan(self, problem: PlanningProblem, previous: Remainder | None) -> Plan: ...
