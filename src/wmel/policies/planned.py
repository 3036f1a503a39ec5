"""From a plan to a decision: what every planning policy says about it."""

import numpy as np

from wmel.arrays import Array, to_numpy
from wmel.contract.planner import Plan, Planner
from wmel.contract.policy import Decision
from wmel.errors import NoFiniteCandidate, described


def planned_decision(
    planner: Planner, plan: Plan, *, horizon: int, execute: int | None, memory: dict[str, Array] | None = None
) -> Decision:
    """The plan or the first `execute` of it, what it took, and an error for each row without a finite cost."""
    lengths = to_numpy(plan.lengths).astype(np.int64)
    unplanned = np.flatnonzero(~np.isfinite(to_numpy(plan.costs)))
    reason = NoFiniteCandidate(f"none of {planner.evaluations} candidates had a finite cost")
    return Decision(
        to_numpy(plan.actions),
        lengths if execute is None else lengths.clip(max=execute),
        memory,
        np.full(len(plan.costs), planner.evaluations * horizon),
        {int(row): described(reason) for row in unplanned},
    )
