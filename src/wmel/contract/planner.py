"""A planner is an optimiser over action sequences: it sees costs, bounds and random numbers, never a model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Protocol

from wmel.arrays import Array
from wmel.contract.environment import Space
from wmel.parts import Meaning
from wmel.randomness import Streams

PlanHorizon = Annotated[int, Meaning("steps a plan looks ahead", at_least=1)]
Candidates = Annotated[int, Meaning("action sequences sampled, in each iteration where there are several", at_least=1)]
Iterations = Annotated[int, Meaning("times the distribution is sampled and refitted", at_least=1)]
Smoothing = Annotated[float, Meaning("share of the old distribution kept in each fit", at_least=0, at_most=1)]
Knots = Annotated[
    int | None, Meaning("sample actions at so many steps and interpolate (Box); none: at every step", at_least=1)
]
WarmStart = Annotated[bool | None, Meaning("start from the rest of the last plan; none: where `execute` leaves a rest")]


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
    """Settings are constructor keywords, as `wmel.parts` reads them; `plan_horizon` is one of them by convention."""

    @property
    def plan_horizon(self) -> int:
        """Steps a plan looks ahead."""
        ...

    @property
    def evaluations(self) -> int:
        """Candidate sequences evaluated per plan call."""
        ...

    @property
    def warm_start(self) -> bool | None:
        """Whether the last plan's remainder is handed to the next call; None: where `execute` leaves one."""
        ...

    def plan(self, problem: PlanningProblem, previous: Remainder | None) -> Plan: ...
