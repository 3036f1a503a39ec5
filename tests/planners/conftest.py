"""Planning problems with a known answer."""

import numpy as np
import pytest

from wmel.contract.environment import Box, Finite
from wmel.contract.planner import CandidateCosts, PlanningProblem
from wmel.planners.cem import CEM
from wmel.planners.mppi import MPPI
from wmel.planners.random_shooting import RandomShooting
from wmel.randomness import Streams

BOX = Box(np.array([-1.0, 0.0]), np.array([1.0, 3.0]))
LETTERS = Finite(("a", "b", "c", "d", "e"))


def whole_plans(costs):
    """Costs [B,N] of plans that are executed whole."""
    return lambda candidates: CandidateCosts(costs(candidates), np.full(candidates.shape[:2], candidates.shape[2]))


@pytest.fixture
def problem():
    def make(space, cost, *, rows=2, horizon=4, like=None, seed=0):
        streams = Streams(np.arange(seed, seed + rows), np.zeros(rows, int))
        return PlanningProblem(whole_plans(cost), space, streams, horizon, np.zeros(1) if like is None else like)

    return make


PLANNERS = {
    "rs": RandomShooting(plan_horizon=4, candidates=64),
    "cem": CEM(plan_horizon=4, candidates=32, elites=8),
    "mppi": MPPI(plan_horizon=4, candidates=32),
}


@pytest.fixture(params=PLANNERS.values(), ids=PLANNERS.keys())
def planner(request):
    return request.param


@pytest.fixture(params=[BOX, LETTERS], ids=["box", "finite"])
def space(request):
    return request.param
