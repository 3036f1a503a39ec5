"""The contract of planners: optimisers over action sequences. They see costs, bounds and random numbers, no model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Protocol

from wmel.arrays import Array
from wmel.contract import old_names
from wmel.contract.environment import Space
from wmel.parts import Meaning
from wmel.randomness import Streams
from wmel.settings import MAX_COUNT

PlanHorizon = Annotated[int, Meaning("planning horizon in steps", at_least=1, cap=MAX_COUNT)]
Candidates = Annotated[int, Meaning("action sequences sampled per iteration", at_least=1, cap=MAX_COUNT)]
Iterations = Annotated[int, Meaning("times the distribution is sampled and refitted", at_least=1, cap=MAX_COUNT)]
Smoothing = Annotated[float, Meaning("share of the old distribution kept in each fit", at_least=0, at_most=1)]
KnotCount = Annotated[
    int | None, Meaning("steps at which actions are sampled, with interpolation between (Box); none: all", at_least=1)
]
WarmStart = Annotated[
    bool | None, Meaning("start from the unexecuted part of the last plan; none: if `execute` leaves one")
]


@dataclass(frozen=True, eq=False)
class CandidateCosts:
    """The cost of each candidate and how many of its actions to execute."""

    costs: Array  # [...] one per candidate
    lengths: Array  # [...]


@dataclass(frozen=True, eq=False)
class PlanningProblem:
    """One plan call for B episodes."""

    cost: Callable[[Array], CandidateCosts]  # candidates [B,N,H,A] -> their costs
    space: Space
    streams: Streams
    horizon: int
    like: Array  # candidates are created in the library and on the device of this array


@dataclass(frozen=True, eq=False)
class Plan:
    """The cheapest candidate of each row. A row without a finite candidate has cost inf."""

    actions: Array  # [B,H,A]
    lengths: Array  # [B]
    costs: Array  # [B]


@dataclass(frozen=True, eq=False)
class Remainder:
    """The unexecuted part of each row's last plan, shifted to the front. Its length is 0 if there is none."""

    actions: Array  # [B,H,A]
    lengths: Array  # [B]


class Planner(Protocol):
    """Finds the cheapest action sequences. Its settings are constructor keywords; `plan_horizon` is always one."""

    @property
    def plan_horizon(self) -> int:
        """The planning horizon in steps."""
        ...

    @property
    def evaluations(self) -> int:
        """Candidate sequences evaluated per plan call."""
        ...

    @property
    def warm_start(self) -> bool | None:
        """Whether the next call receives the remainder of the last plan. None: if `execute` leaves one."""
        ...

    def plan(self, problem: PlanningProblem, previous: Remainder | None) -> Plan: ...


__getattr__ = old_names(__name__)
