import numpy as np
import pytest

from wmel.contract.environment import Box, Finite
from wmel.contract.planner import CandidateCosts
from wmel.errors import BadInput
from wmel.planners.cem import CEM
from wmel.planners.mppi import MPPI

TARGET = np.linspace(-0.9, 0.9, 10, dtype=np.float32)


@pytest.mark.parametrize(
    "planner",
    [
        CEM(plan_horizon=1, iterations=20, candidates=500, elites=50),
        MPPI(plan_horizon=1, iterations=20, candidates=500, temperature=0.25),
    ],
    ids=["cem", "mppi"],
)
def test_a_bounded_quadratic_of_ten_dimensions_is_solved_to_a_thousandth(planner, problem):
    """Budget: 20 iterations of 500 candidates, that is 10,000 evaluations."""
    box = Box(-np.ones(10), np.ones(10))

    def cost(candidates):
        return ((candidates - TARGET) ** 2).sum(3).sum(2)

    plan = planner.plan(problem(box, cost, horizon=1, rows=5), None)
    assert np.abs(plan.actions[:, 0] - TARGET).max() < 1e-3


def test_weights_are_a_softmax_of_cost():
    costs = np.array([[1.0, 2.0, np.nan, np.inf]])
    _, weights = MPPI(temperature=0.5)._weigh(np.zeros((1, 4, 1, 1)), CandidateCosts(costs, costs))
    expected = np.exp(-np.array([1.0, 2.0]) / (0.5 * 0.5))  # the spread of 1 and 2 is 0.5
    assert np.allclose(weights, [[*(expected / expected.sum()), 0, 0]])


def test_the_scale_of_the_costs_does_not_matter():
    costs = np.random.default_rng(0).random((3, 50))
    small, large = (
        MPPI()._weigh(np.zeros((3, 50, 1, 1)), CandidateCosts(scale * costs + 7, costs))[1] for scale in (1, 1000)
    )
    assert np.allclose(small, large, atol=1e-6)


def test_costs_without_a_finite_one_weigh_nothing():
    costs = np.full((1, 3), np.inf)
    _, weights = MPPI()._weigh(np.zeros((1, 3, 1, 1)), CandidateCosts(costs, costs))
    assert (weights == 0).all()


def test_finite_actions_are_drawn_more_where_they_cost_less(problem):
    space, target = Finite(("a", "b", "c", "d")), np.array([3, 0, 2, 1, 1, 3])

    def mistakes(candidates):
        return (candidates[..., 0] != target).sum(2).astype(float)

    plan = MPPI(iterations=8, candidates=200).plan(problem(space, mistakes, rows=5, horizon=6), None)
    assert (plan.costs == 0).all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"temperature": 0}, "temperature must be .* above 0 .* got 0"),
        ({"temperature": np.inf}, "temperature must be .* got inf"),
        ({"temperature": np.nan}, "temperature must be .* got nan"),
        ({"smoothing": -0.1}, "smoothing must be .* got -0.1"),
        ({"iterations": 0}, "iterations must.*1,.*0"),
    ],
)
def test_bad_settings_are_refused(settings, words):
    with pytest.raises(BadInput, match=words):
        MPPI(**settings)
