import numpy as np

from wmel import catalog
from wmel.randomness import Streams


def test_it_draws_every_remaining_action_at_once(maze, percept_of):
    policy, states = catalog.policy("random", maze), maze.reset(np.arange(500))
    decision = policy.act(percept_of(maze, states, 40), None, Streams(np.arange(500), np.zeros(500, int)))
    assert decision.actions.shape == (500, 40, 1) and (decision.lengths == 40).all()
    # a chi-squared statistic of 4 cells exceeds 17.3 with probability 0.0006
    assert ((np.bincount(decision.actions.ravel()) - 5000) ** 2 / 5000).sum() < 17.3


def test_it_claims_no_compute_and_no_true_state(maze):
    policy = catalog.policy("random", maze)
    assert policy.compute_per_plan_call is None and policy.reads == "observation"
