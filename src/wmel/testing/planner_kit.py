"""What every planner promises."""

from collections.abc import Callable
from typing import Any

import numpy as np

from wmel.contract.planner import CandidateCosts, Plan, Planner, PlanningProblem
from wmel.contract.spaces import Box, Finite, Space
from wmel.randomness import Streams
from wmel.testing.findings import Finding, findings

BOX = Box(np.array([-1.0, 0.0]), np.array([1.0, 3.0]))
LETTERS = Finite(("a", "b", "c", "d"))
Cost = Callable[[np.ndarray], np.ndarray]


def check_planner(planner: Planner) -> list[Finding]:
    """Bounds, a quadratic, NaN and infinities, the declared budget and independence of rows, on both action spaces."""
    return findings(planner, [_bounds, _quadratic, _not_a_number, _hopeless, _budget, _independent])


def _plan(planner: Any, space: Space, cost: Cost, rows: np.ndarray | None = None) -> Plan:
    """A plan of at most 5 steps for some rows, as the loop would ask for it."""
    rows = np.arange(4) if rows is None else rows

    def whole(candidates: np.ndarray) -> CandidateCosts:
        return CandidateCosts(cost(candidates), np.full(candidates.shape[:2], candidates.shape[2]))

    horizon = min(5, planner.horizon)
    return planner.plan(PlanningProblem(whole, space, Streams(rows, rows * 0), horizon, np.zeros(1)), None)


def _squares(candidates: np.ndarray) -> np.ndarray:
    return ((candidates - 0.7) ** 2).sum(axis=(2, 3))


def _bounds(planner: Any) -> str:
    """Every candidate and every plan lies within the bounds"""
    for space in (BOX, LETTERS):
        strays = []

        def outwards(candidates: np.ndarray, space: Space = space, strays: list = strays) -> np.ndarray:
            strays.append(not space.contains(candidates).all())
            return -np.abs(candidates).sum(axis=(2, 3))

        plan = _plan(planner, space, outwards)
        if any(strays) or not space.contains(plan.actions).all():
            return (
                f"an action left the {type(space).__name__}; clip what is drawn, so that a planned action is executed"
            )
    return ""


def _quadratic(planner: Any) -> str:
    """It returns the cheapest candidate it evaluated, cheaper than its first"""
    for space in (BOX, LETTERS):
        seen: list[np.ndarray] = []

        def watched(candidates: np.ndarray, seen: list = seen) -> np.ndarray:
            seen.append(_squares(candidates))
            return seen[-1]

        plan = _plan(planner, space, watched, np.arange(20))
        lowest = np.min([costs.min(axis=1) for costs in seen], axis=0)
        if not np.allclose(plan.costs, lowest, rtol=1e-5):
            return f"on a {type(space).__name__} it returned {plan.costs[0]:g} having seen {lowest[0]:g}; keep the best"
        if not (lowest < seen[0][:, 0]).any():
            return f"on a {type(space).__name__} no candidate was cheaper than the first; draw different ones"
    return ""


def _not_a_number(planner: Any) -> str:
    """NaN and infinite costs never win"""
    for bad in (np.nan, np.inf, -np.inf):
        for space, middle in ((BOX, 0.0), (LETTERS, 1)):

            def spoiled(candidates: np.ndarray, bad: float = bad, middle: float = middle) -> np.ndarray:
                first = candidates[:, :, 0, 0]
                return np.where(first > middle, bad, -first.astype(float))

            plan = _plan(planner, space, spoiled, np.arange(10))
            if not np.isfinite(plan.costs).all() or (plan.actions[:, 0, 0] > middle).any():
                return f"a candidate of cost {bad} was chosen; rank NaN and both infinities last"
    return ""


def _hopeless(planner: Any) -> str:
    """A row without a finite candidate has cost inf, and the others are untouched"""

    def hopeless(candidates: np.ndarray) -> np.ndarray:
        costs = _squares(candidates)
        costs[1] = np.nan
        return costs

    spoiled, healthy = _plan(planner, BOX, hopeless), _plan(planner, BOX, _squares)
    if spoiled.costs[1] != np.inf:
        return f"the row came back with cost {spoiled.costs[1]:g}; report inf, the loop makes it an error row"
    if not np.array_equal(spoiled.actions[[0, 2, 3]], healthy.actions[[0, 2, 3]]):
        return "the bad row changed its neighbours; update each row from its own candidates"
    return ""


def _budget(planner: Any) -> str:
    """It evaluates as many candidates as it declares"""
    for space in (BOX, LETTERS):
        counted: list[int] = []

        def counting(candidates: np.ndarray, counted: list = counted) -> np.ndarray:
            counted.append(candidates.shape[1])
            return _squares(candidates)

        _plan(planner, space, counting)
        if sum(counted) != planner.evaluations:
            return (
                f"it declares {planner.evaluations} evaluations and made {sum(counted)}; compute per decision would lie"
            )
    return ""


def _independent(planner: Any) -> Finding:
    """A row does not depend on its companions"""
    for space in (BOX, LETTERS):
        together = _plan(planner, space, _squares, np.arange(8))
        for row in range(8):
            alone = _plan(planner, space, _squares, np.array([row]))
            if not np.allclose(alone.actions[0], together.actions[row], atol=1e-6):
                return Finding(
                    "", "a row planned alone differs from the same row in a batch; draw from problem.streams"
                )
    return Finding("")
