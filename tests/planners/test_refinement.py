import numpy as np
import pytest

from wmel.contract.environment import Box, Finite
from wmel.contract.planner import Remainder
from wmel.planners.search import Refinement

SPACES = {"finite": Finite(("a", "b", "c", "d")), "box": Box(-np.ones(1), np.ones(1))}


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES.keys())
@pytest.mark.parametrize("knots", [None, 3])
def test_what_is_learned_from_is_what_was_costed(space, knots, problem):
    """Candidates and the draws they are refitted from agree at the knots, the remainder of the last plan included."""
    if knots and not isinstance(space, Box):
        return
    costed, learned = [], []

    def cost(candidates):
        costed.append(candidates)
        return np.zeros(candidates.shape[:2])

    def weigh(samples, outcome):
        learned.append(samples)
        return samples, np.full(samples.shape[:2], 1 / samples.shape[1], np.float32)

    last = Remainder(np.full((2, 7, 1), 1, space.dtype), np.array([5, 2]))
    Refinement(3, 6, 0.1, knots).plan(problem(space, cost, horizon=7), last, weigh)
    assert (len(costed), len(learned)) == (3, 2)
    moments = np.arange(7) if knots is None else np.array([0, 3, 6])
    for candidates, samples in zip(costed, learned, strict=False):  # the last draw teaches nobody
        assert np.array_equal(candidates[:, :, moments], samples)
    assert (costed[0][0, 0, :4] == 1).all()  # what is left of the last plan competes in the first iteration
    assert not (costed[1][0, 0, :4] == 1).all()  # and is not put back into the later ones
