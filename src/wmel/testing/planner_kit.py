"""What every planner promises."""

from collections.abc import Callable
from typing import Any

import numpy as np

from wmel.contract.environment import Box, Finite, Space
from wmel.contract.planner import CandidateCosts, Plan, Planner, PlanningProblem, Remainder
from wmel.randomness import Streams
from wmel.testing.findings import Finding, findings

BOX = Box(np.array([-1.0, 0.0]), np.array([1.0, 3.0]))
LETTERS = Finite(("a", "b", "c", "d"))
SPACES = (BOX, LETTERS)
ROWS = np.arange(8)
Cost = Callable[[np.ndarray], np.ndarray]


def check_planner(planner: Planner) -> list[Finding]:
    """Bounds, a quadratic, NaN and infinities, the declared budget and independence of rows, on both action spaces."""
    promises = [_bounds, _quadratic, _faithful, _not_a_number, _hopeless, _budget, _continues, _independent]
    return findings(planner, promises)


def _plan(planner: Any, space: Space, cost: Cost, rows: np.ndarray = ROWS, last: Remainder | None = None) -> Plan:
    """A plan of at most 5 steps for some rows, as the loop would ask for it; each candidate has a length of its own."""

    def outcome(candidates: np.ndarray) -> CandidateCosts:
        return CandidateCosts(cost(candidates), _lengths(candidates))

    horizon = min(5, planner.plan_horizon)
    return planner.plan(PlanningProblem(outcome, space, Streams(rows, rows * 0), horizon, np.zeros(1)), last)


def _lengths(candidates: np.ndarray) -> np.ndarray:
    """A length within 1..H that is a function of the candidate alone."""
    return 1 + (np.abs(candidates[..., 0].sum(axis=2)) * 997).astype(int) % candidates.shape[2]


def _squares(rows: np.ndarray = ROWS) -> Cost:
    """A quadratic whose optimum differs from row to row."""
    return lambda candidates: ((candidates - 0.1 * rows[:, None, None, None]) ** 2).sum(axis=(2, 3))


def _bounds(planner: Any) -> str:
    """Every candidate and every plan lies within the bounds"""
    for space in SPACES:
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
    for space in SPACES:
        seen: list[np.ndarray] = []

        def watched(candidates: np.ndarray, seen: list = seen) -> np.ndarray:
            seen.append(_squares()(candidates))
            return seen[-1]

        plan = _plan(planner, space, watched)
        lowest = np.min([costs.min(axis=1) for costs in seen], axis=0)
        if not np.allclose(plan.costs, lowest, rtol=1e-5):
            return f"on a {type(space).__name__} it returned {plan.costs[0]:g} having seen {lowest[0]:g}; keep the best"
        if not (lowest < seen[0][:, 0]).any():
            return f"on a {type(space).__name__} no candidate was cheaper than the first; draw different ones"
    return ""


def _faithful(planner: Any) -> str:
    """The actions, cost and length it returns belong together"""
    for space in SPACES:
        plan = _plan(planner, space, _squares())
        if not np.allclose(_squares()(plan.actions[:, None])[:, 0], plan.costs, rtol=1e-4, atol=1e-6):
            return "the returned actions do not cost what is returned; return the candidate that was evaluated"
        if not np.array_equal(plan.lengths, _lengths(plan.actions[:, None])[:, 0]):
            return "the returned length is not that of the returned candidate; take both from the same one"
    return ""


def _not_a_number(planner: Any) -> str:
    """NaN and infinite costs never win"""
    for bad in (np.nan, np.inf, -np.inf):
        for space, middle in ((BOX, 0.0), (LETTERS, 1)):

            def spoiled(candidates: np.ndarray, bad: float = bad, middle: float = middle) -> np.ndarray:
                first = candidates[:, :, 0, 0]
                return np.where(first > middle, bad, -first.astype(float))

            plan = _plan(planner, space, spoiled)
            if not np.isfinite(plan.costs).all() or (plan.actions[:, 0, 0] > middle).any():
                return f"a candidate of cost {bad} was chosen; rank NaN and both infinities last"
    return ""


def _hopeless(planner: Any) -> str:
    """A row without a finite candidate has cost inf, and the others are untouched"""

    def hopeless(candidates: np.ndarray) -> np.ndarray:
        costs = _squares()(candidates)
        costs[1] = np.nan
        return costs

    spoiled, healthy = _plan(planner, BOX, hopeless), _plan(planner, BOX, _squares())
    if spoiled.costs[1] != np.inf:
        return f"the row came back with cost {spoiled.costs[1]:g}; report inf, the loop makes it an error row"
    if not np.array_equal(np.delete(spoiled.actions, 1, 0), np.delete(healthy.actions, 1, 0)):
        return "the bad row changed its neighbours; update each row from its own candidates"
    return ""


def _budget(planner: Any) -> str:
    """It evaluates as many candidates as it declares"""
    for space in SPACES:
        counted: list[int] = []

        def counting(candidates: np.ndarray, counted: list = counted) -> np.ndarray:
            counted.append(candidates.shape[1])
            return _squares()(candidates)

        _plan(planner, space, counting)
        if sum(counted) != planner.evaluations:
            return (
                f"it declares {planner.evaluations} evaluations and made {sum(counted)}; compute per decision would lie"
            )
    return ""


def _continues(planner: Any) -> str:
    """What is left of the last plan may be handed to it"""
    for space in SPACES:
        last = Remainder(np.ones((len(ROWS), planner.plan_horizon, space.width), space.dtype), np.full(len(ROWS), 2))
        plan = _plan(planner, space, _squares(), last=last)
        if not np.isfinite(plan.costs).all() or not space.contains(plan.actions).all():
            return "given the remainder of its last plan it returned no plan; use it or ignore it"
    return ""


def _independent(planner: Any) -> str:
    """A row does not depend on its companions"""
    for space in SPACES:
        together = _plan(planner, space, _squares())
        for row in ROWS:
            only = ROWS[row : row + 1]
            if not np.allclose(
                _plan(planner, space, _squares(only), only).actions[0], together.actions[row], atol=1e-6
            ):
                return "a row planned alone differs from the same row in a batch; draw from problem.streams"
    return ""
