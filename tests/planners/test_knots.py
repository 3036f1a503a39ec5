from dataclasses import replace

import numpy as np
import pytest

from wmel.contract.environment import Box, Finite
from wmel.errors import BadInput
from wmel.planners.cem import CEM
from wmel.planners.mppi import MPPI
from wmel.planners.random_shooting import RandomShooting
from wmel.planners.search import Knots

BOX = Box(np.array([-1.0, 0.0]), np.array([1.0, 3.0]))
PLANNERS = [RandomShooting(plan_horizon=6, candidates=40), CEM(plan_horizon=6), MPPI(plan_horizon=6)]


def test_between_knots_actions_lie_on_the_line():
    knots = Knots.over(3, 9, BOX)
    values = np.array([[[[-1.0, 0.0], [1.0, 2.0], [0.0, 1.0]]]], np.float32)
    expected = np.stack([np.interp(np.arange(9), [0, 4, 8], values[0, 0, :, axis]) for axis in (0, 1)], axis=1)
    assert np.allclose(knots.interpolate(values)[0, 0], expected)


def test_a_plan_sampled_at_its_knots_and_spread_again_is_itself_where_it_is_straight():
    knots = Knots.over(4, 10, BOX)
    line = np.linspace(-1, 1, 10, dtype=np.float32)[None, :, None] * np.ones(2, np.float32) * 0.5 + 0.5
    assert np.allclose(knots.interpolate(line[:, knots.steps][:, None])[:, 0], line, atol=1e-6)


@pytest.mark.parametrize("planner", PLANNERS, ids=lambda p: type(p).__name__)
def test_as_many_knots_as_steps_change_nothing(planner, problem):
    def cost(candidates):
        return ((candidates - 0.3) ** 2).sum(3).sum(2)

    plain = planner.plan(problem(BOX, cost, horizon=6), None)
    knotted = replace(planner, knots=6).plan(problem(BOX, cost, horizon=6), None)
    assert np.array_equal(plain.actions, knotted.actions) and np.array_equal(plain.costs, knotted.costs)


@pytest.mark.parametrize("planner", PLANNERS, ids=lambda p: type(p).__name__)
def test_ten_knots_over_two_hundred_steps_stay_inside_the_bounds(planner, problem):
    seen = []

    def cost(candidates):
        seen.append(candidates)
        return -abs(candidates).sum(3).sum(2)

    plan = replace(planner, plan_horizon=200, knots=10).plan(problem(BOX, cost, horizon=200), None)
    assert plan.actions.shape == (2, 200, 2)
    assert all(BOX.contains(candidates).all() for candidates in seen)
    bends = np.abs(np.diff(plan.actions[0], n=2, axis=0)).max(axis=1) > 1e-5
    assert bends.sum() <= 10  # straight between its knots


def test_finite_actions_have_no_knots(problem):
    with pytest.raises(BadInput, match="requires a Box"):
        RandomShooting(plan_horizon=4, knots=2).plan(problem(Finite(("a", "b")), lambda c: c.sum(3).sum(2)), None)


@pytest.mark.parametrize("make", [RandomShooting, CEM, MPPI])
@pytest.mark.parametrize("knots", [0, 1, -3])
def test_a_line_needs_two_knots(make, knots):
    with pytest.raises(BadInput, match=f"knots .* got {knots}"):
        make(knots=knots)


@pytest.mark.parametrize("make", [RandomShooting, CEM, MPPI])
def test_one_knot_is_enough_for_one_step(make):
    assert make(plan_horizon=1, knots=1).knots == 1
