"""What holds for every planner on every action space."""

from dataclasses import replace

import numpy as np
import pytest

from wmel.arrays import to_float32
from wmel.contract.environment import Box
from wmel.contract.planner import CandidateCosts, PlanningProblem, Remainder

torch = pytest.importorskip("torch", reason="install wmel[learned]")


def distance_to_two(candidates):
    return abs(candidates - 2.0).sum(3).sum(2)


def spread(candidates):
    """A smooth cost, in the same precision in every library."""
    return ((to_float32(candidates) - 0.3) ** 2).sum(3).sum(2)


def test_every_candidate_is_inside_the_bounds(planner, space, problem):
    seen = []

    def cost(candidates):
        seen.append(candidates)
        return -abs(candidates).sum(3).sum(2)  # pulls outwards, against the bounds

    plan = planner.plan(problem(space, cost, rows=50), None)
    assert all(space.contains(candidates).all() for candidates in seen)
    assert space.contains(plan.actions).all()


def test_the_plan_is_the_cheapest_candidate_it_evaluated(planner, space, problem):
    lowest = []

    def cost(candidates):
        costs = distance_to_two(candidates)
        lowest.append(costs.min(1))
        return costs

    plan = planner.plan(problem(space, cost, rows=5), None)
    assert np.array_equal(plan.costs, np.min(lowest, axis=0))
    assert np.allclose(distance_to_two(plan.actions[:, None])[:, 0], plan.costs)


def test_it_evaluates_as_many_candidates_as_it_declares(planner, space, problem):
    counted = []

    def cost(candidates):
        counted.append(candidates.shape[1])
        return distance_to_two(candidates)

    planner.plan(problem(space, cost), None)
    assert sum(counted) == planner.evaluations


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_bad_costs_never_win(planner, space, problem, bad):
    """Half of the action range costs NaN or infinity; the plan lies in the other half."""
    middle = 0.0 if isinstance(space, Box) else 2

    def cost(candidates):
        return np.where((candidates[:, :, 0, 0] > middle), bad, -candidates[:, :, 0, 0].astype(float))

    plan = planner.plan(problem(space, cost, rows=20), None)
    assert np.isfinite(plan.costs).all()
    assert (plan.actions[:, 0, 0] <= middle).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_row_without_a_finite_candidate_costs_infinity_and_spoils_no_other(planner, space, problem, bad):
    def cost(candidates, bad_row=None):
        costs = spread(candidates).astype(float)
        if bad_row is not None:
            costs[bad_row] = bad
        return costs

    spoiled = planner.plan(problem(space, lambda c: cost(c, 1), rows=3), None)
    healthy = planner.plan(problem(space, cost, rows=3), None)
    assert spoiled.costs[1] == np.inf
    for row in (0, 2):
        assert np.array_equal(spoiled.actions[row], healthy.actions[row])
    assert space.contains(spoiled.actions).all()


def test_the_first_of_equal_candidates_wins(planner, space, problem):
    seen = []

    def cost(candidates):
        seen.append(candidates)
        return np.zeros(candidates.shape[:2])

    plan = planner.plan(problem(space, cost), None)
    assert np.array_equal(plan.actions, seen[0][:, 0])


def test_a_row_does_not_depend_on_its_companions(planner, space, problem):
    together = planner.plan(problem(space, spread, rows=16), None)
    for row in range(16):
        alone = planner.plan(problem(space, spread, rows=1, seed=row), None)
        assert np.array_equal(alone.actions[0], together.actions[row])


def test_a_warm_start_lets_the_last_plan_compete(planner, space, problem):
    """A needle that no draw hits: only a planner that was handed it can return it."""
    needle = (
        np.full((2, 4, space.width), 2, space.dtype)
        if not isinstance(space, Box)
        else np.full((2, 4, 2), 0.123456, np.float32)
    )

    def cost(candidates):
        return 1.0 - (abs(candidates - needle[:, None]).sum(3).sum(2) < 1e-6)

    remainder = Remainder(needle, np.array([4, 4]))
    warm = replace(planner, warm_start=True).plan(problem(space, cost), remainder)
    assert np.array_equal(warm.actions, needle) and (warm.costs == 0).all()


def test_only_what_is_left_of_the_last_plan_is_used(planner, space, problem):
    seen = []

    def cost(candidates):
        seen.append(candidates)
        return np.zeros(candidates.shape[:2])

    old = np.full((2, 6, space.width), 1, space.dtype)
    first_plan = planner.plan(problem(space, cost), None)
    seen.clear()
    replace(planner, warm_start=True).plan(problem(space, cost), Remainder(old, np.array([3, 0])))
    assert (seen[0][0, 0, :3] == 1).all()
    if not isinstance(space, Box):  # a bounded Gaussian also centres its other draws on the remainder
        assert np.array_equal(seen[0][0, 0, 3:], first_plan.actions[0, 3:])
        assert np.array_equal(seen[0][1, 0], first_plan.actions[1])


def test_without_warm_start_the_last_plan_is_ignored(planner, space, problem):
    old = Remainder(np.full((2, 4, space.width), 1, space.dtype), np.array([4, 4]))
    cold = replace(planner, warm_start=False)
    with_old, without = cold.plan(problem(space, spread), old), planner.plan(problem(space, spread), None)
    assert np.array_equal(with_old.actions, without.actions)


def test_a_planner_that_is_not_told_uses_the_last_plan_where_it_gets_one(planner, space, problem):
    old = Remainder(np.full((2, 4, space.width), 1, space.dtype), np.array([4, 4]))
    warm = replace(planner, warm_start=True)
    assert planner.warm_start is None
    cold_plan, warm_plan = planner.plan(problem(space, spread), old), warm.plan(problem(space, spread), old)
    assert np.array_equal(cold_plan.actions, warm_plan.actions) and np.array_equal(cold_plan.costs, warm_plan.costs)


def test_the_old_name_of_the_plan_horizon_is_accepted_with_a_warning(planner):
    with pytest.warns(DeprecationWarning, match="'horizon' is now 'plan_horizon'"):
        old = type(planner)(horizon=7)
    assert old == type(planner)(plan_horizon=7) and old.horizon == 7


def test_torch_plans_as_numpy_does(planner, space, problem):
    def cost(candidates):
        return CandidateCosts(spread(candidates), torch.full(candidates.shape[:2], 4))

    base = problem(space, spread, rows=6)
    in_torch = planner.plan(PlanningProblem(cost, space, base.streams, base.horizon, torch.zeros(1)), None)
    in_numpy = planner.plan(base, None)
    assert isinstance(in_torch.actions, torch.Tensor)
    assert np.allclose(in_torch.actions.numpy(), in_numpy.actions, atol=1e-5)


def test_a_shorter_problem_gets_a_shorter_plan(planner, space, problem):
    assert planner.plan(problem(space, spread, horizon=2), None).actions.shape == (2, 2, space.width)
