import numpy as np
import pytest
import torch

from wmel import catalog
from wmel.errors import BadInput
from wmel.objectives import smooth_upright, upright

SEEN = np.random.default_rng(0).uniform(-1, 1, (4, 6, 6))
ACTIONS, GOALS = np.zeros((4, 5, 1)), np.zeros((4, 0))


def test_the_score_of_acrobot_is_minus_the_height_of_the_tip():
    costs = upright(catalog.environment("dmc_acrobot")).costs(SEEN, ACTIONS, GOALS)
    np.testing.assert_allclose(costs, -(SEEN[:, 1:, 2] + SEEN[:, 1:, 3]))


def test_the_score_of_cartpole_is_minus_the_cosine():
    costs = upright(catalog.environment("dmc_cartpole")).costs(SEEN[..., :5], ACTIONS, GOALS)
    np.testing.assert_allclose(costs, -SEEN[:, 1:, 1])


def test_smooth_uprightness_runs_from_0_upright_to_1_hanging_and_has_gradients():
    objective = smooth_upright(catalog.environment("dmc:pendulum-swingup"))
    seen = torch.tensor([[[0.0, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 1, 0]]], requires_grad=True)
    costs = objective.costs(seen, torch.zeros(1, 3, 1), torch.zeros(1, 0))
    assert costs.tolist() == [[0, 1, 0.5]]
    costs.sum().backward()
    assert seen.grad[0, 1, 0] == -0.5


def test_where_nothing_can_be_upright_it_is_refused():
    with pytest.raises(BadInput, match="no cosine"):
        upright(catalog.environment("dmc_reacher"))
