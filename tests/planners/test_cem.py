import numpy as np
import pytest

from wmel.contract.environment import Box, Finite
from wmel.errors import BadInput
from wmel.planners.cem import CEM


def test_iterations_come_closer_to_the_optimum_of_a_quadratic(problem):
    """10 numbers in [-1, 1], optimum inside; 12 x 500 candidates reach it to 1e-2 in every component."""
    box, target = Box(-np.ones(10), np.ones(10)), np.linspace(-0.9, 0.9, 10, dtype=np.float32)

    def cost(candidates):
        return ((candidates - target) ** 2).sum(3).sum(2)

    planner = CEM(plan_horizon=1, iterations=12, candidates=500, elites=50)
    plan = planner.plan(problem(box, cost, horizon=1, rows=3), None)
    assert np.abs(plan.actions[:, 0] - target).max() < 1e-2


def test_an_optimum_on_the_bounds_is_reached_exactly(problem):
    box = Box(np.array([-1.0]), np.array([1.0]))
    plan = CEM(iterations=8, candidates=200, elites=20).plan(problem(box, lambda c: -c.sum(3).sum(2)), None)
    assert (plan.actions == 1).all()


def test_the_only_good_sequence_of_finite_actions_is_found(problem):
    space, target = Finite(("a", "b", "c", "d")), np.array([3, 0, 2, 1, 1, 3])

    def mistakes(candidates):
        return (candidates[..., 0] != target).sum(2).astype(float)

    plan = CEM(iterations=8, candidates=200, elites=20).plan(problem(space, mistakes, rows=5, horizon=6), None)
    assert (plan.costs == 0).all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"iterations": 0}, "iterations must.*1,.*0"),
        ({"candidates": 0}, "candidates must.*1,.*0"),
        ({"elites": 0}, "elites must.*1.*0"),
        ({"elites": 25}, "elites must lie in 1..24"),
        ({"smoothing": 1.5}, "smoothing must be .* got 1.5"),
        ({"min_deviation": -0.1}, "min_deviation must be .* got -0.1"),
        ({"plan_horizon": -1}, "plan_horizon.*1, got -1"),
    ],
)
def test_bad_settings_are_refused(settings, words):
    with pytest.raises(BadInput, match=words):
        CEM(**settings)
