"""The promises of every planner."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from wmel.contract.environment import Box, Finite, Space
from wmel.contract.planner import CandidateCosts, Plan, Planner, PlanningProblem, Remainder
from wmel.randomness import Streams
from wmel.testing.findings import Finding, check_promises, find_changed

BOX = Box(np.array([-1.0, 0.0]), np.array([1.0, 3.0]))
LETTERS = Finite(("a", "b", "c", "d"))
SPACES = (BOX, LETTERS)
ROWS = np.arange(8)
Cost = Callable[[np.ndarray], np.ndarray]


def check_planner(planner: Planner) -> list[Finding]:
    """Checks bounds, optimisation, NaN and infinity, the budget and independence of rows, on both action spaces."""
    promises = [
        _bounds,
        _quadratic,
        _consistent,
        _not_finite,
        _all_not_finite,
        _budget,
        _remainder,
        _independent,
        _lasting,
    ]
    return check_promises(planner, promises)


def _plan(planner: Any, space: Space, cost: Cost, rows: np.ndarray = ROWS, last: Remainder | None = None) -> Plan:
    """A plan of at most 5 steps for some rows, requested as in the closed loop. Lengths depend on the candidate."""

    def outcome(candidates: np.ndarray) -> CandidateCosts:
        return CandidateCosts(cost(candidates), _lengths(candidates))

    horizon = min(5, planner.plan_horizon)
    return planner.plan(PlanningProblem(outcome, space, Streams(rows, rows * 0), horizon, np.zeros(1)), last)


def _lengths(candidates: np.ndarray) -> np.ndarray:
    """Lengths in 1..H, a function of the candidate only."""
    return 1 + (np.abs(candidates[..., 0].sum(axis=2)) * 997).astype(int) % candidates.shape[2]


def _squares(rows: np.ndarray = ROWS) -> Cost:
    """A quadratic cost with another minimum for each row."""
    return lambda candidates: ((candidates - 0.1 * rows[:, None, None, None]) ** 2).sum(axis=(2, 3))


def _bounds(planner: Any) -> str:
    """Every candidate and every plan lies within the bounds"""
    for space in SPACES:
        outside = []

        def outward_cost(candidates: np.ndarray, space: Space = space, outside: list = outside) -> np.ndarray:
            outside.append(not space.contains(candidates).all())
            return -np.abs(candidates).sum(axis=(2, 3))

        plan = _plan(planner, space, outward_cost)
        if any(outside) or not space.contains(plan.actions).all():
            return f"an action lies outside the {type(space).__name__}; clip the samples, so that plans can be executed"
    return ""


def _quadratic(planner: Any) -> str:
    """It returns the cheapest candidate it evaluated, cheaper than its first"""
    for space in SPACES:
        evaluated: list[np.ndarray] = []

        def recorded_cost(candidates: np.ndarray, evaluated: list = evaluated) -> np.ndarray:
            evaluated.append(_squares()(candidates))
            return evaluated[-1]

        plan = _plan(planner, space, recorded_cost)
        lowest = np.min([costs.min(axis=1) for costs in evaluated], axis=0)
        name = type(space).__name__
        if not np.allclose(plan.costs, lowest, rtol=1e-5):
            return f"on a {name} it returned cost {plan.costs[0]:g}, the lowest was {lowest[0]:g}; keep the best"
        if not (lowest < evaluated[0][:, 0]).any():
            return f"on a {name} no candidate was cheaper than the first; sample different candidates"
    return ""


def _consistent(planner: Any) -> str:
    """The actions, cost and length it returns belong together"""
    for space in SPACES:
        plan = _plan(planner, space, _squares())
        if not np.allclose(_squares()(plan.actions[:, None])[:, 0], plan.costs, rtol=1e-4, atol=1e-6):
            return "the returned actions do not have the returned cost; return the candidate that was evaluated"
        if not np.array_equal(plan.lengths, _lengths(plan.actions[:, None])[:, 0]):
            return "the returned actions do not have the returned length; take both from the same candidate"
    return ""


def _not_finite(planner: Any) -> str:
    """A candidate of NaN or infinite cost is never chosen"""
    for bad in (np.nan, np.inf, -np.inf):
        for space, middle in ((BOX, 0.0), (LETTERS, 1)):

            def partly_bad_cost(candidates: np.ndarray, bad: float = bad, middle: float = middle) -> np.ndarray:
                first = candidates[:, :, 0, 0]
                return np.where(first > middle, bad, -first.astype(float))

            plan = _plan(planner, space, partly_bad_cost)
            if not np.isfinite(plan.costs).all() or (plan.actions[:, 0, 0] > middle).any():
                return f"a candidate of cost {bad} was chosen; rank NaN and both infinities last"
    return ""


def _all_not_finite(planner: Any) -> str:
    """A row without a finite candidate has cost inf and does not change the others"""

    def one_row_nan(candidates: np.ndarray) -> np.ndarray:
        costs = _squares()(candidates)
        costs[1] = np.nan
        return costs

    with_nan, without = _plan(planner, BOX, one_row_nan), _plan(planner, BOX, _squares())
    if with_nan.costs[1] != np.inf:
        return f"the row has cost {with_nan.costs[1]:g}; return inf, which the closed loop reports as an error"
    if not np.array_equal(np.delete(with_nan.actions, 1, 0), np.delete(without.actions, 1, 0)):
        return "the row changed other rows; update each row from its own candidates"
    return ""


def _budget(planner: Any) -> str:
    """It evaluates as many candidates as it declares"""
    for space in SPACES:
        counts: list[int] = []

        def counted_cost(candidates: np.ndarray, counts: list = counts) -> np.ndarray:
            counts.append(candidates.shape[1])
            return _squares()(candidates)

        _plan(planner, space, counted_cost)
        if sum(counts) != planner.evaluations:
            return (
                f"it declares {planner.evaluations} evaluations, but made {sum(counts)}; the reported compute would be "
                "wrong"
            )
    return ""


def _remainder(planner: Any) -> str:
    """It accepts the remainder of its last plan"""
    for space in SPACES:
        last = Remainder(np.ones((len(ROWS), planner.plan_horizon, space.width), space.dtype), np.full(len(ROWS), 2))
        plan = _plan(planner, space, _squares(), last=last)
        if not np.isfinite(plan.costs).all() or not space.contains(plan.actions).all():
            return "with the remainder of its last plan it returned no valid plan; use the remainder, or ignore it"
    return ""


def _independent(planner: Any) -> str:
    """A row does not depend on the other rows of its batch"""
    for space in SPACES:
        together = _plan(planner, space, _squares())
        for row in ROWS:
            only = ROWS[row : row + 1]
            if not np.allclose(
                _plan(planner, space, _squares(only), only).actions[0], together.actions[row], atol=1e-6
            ):
                return "a row planned alone differs from the same row in a batch; sample from problem.streams"
    return ""


def _lasting(planner: Any) -> str:
    """Plans do not change at later calls"""
    for space in SPACES:
        plan, others = _plan(planner, space, _squares()), ROWS + len(ROWS)
        results = {f"plan ({name})": getattr(plan, name) for name in ("actions", "costs", "lengths")}
        problem = find_changed(results, partial(_plan, planner, space, _squares(others), others))
        if problem:
            return problem
    return ""
