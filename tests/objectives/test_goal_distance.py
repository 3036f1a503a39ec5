import numpy as np

from wmel.objectives import GoalDistance


def test_the_cost_of_each_step_is_the_manhattan_distance_after_it():
    observations = np.array([[[9.0, 9.0, 7.0], [0.0, 0.0, 7.0], [3.0, -1.0, 7.0]]])
    costs = GoalDistance().costs(observations, np.zeros((1, 2, 1)), np.array([[1.0, 1.0]]))
    assert costs.tolist() == [[2.0, 4.0]]  # the start and the component without a goal do not count


def test_it_agrees_with_numpy_on_any_width():
    rng = np.random.default_rng(0)
    observations, goals = rng.normal(size=(5, 4, 3)), rng.normal(size=(5, 3))
    costs = GoalDistance().costs(observations, np.zeros((5, 3, 1)), goals)
    assert np.allclose(costs, np.abs(observations[:, 1:] - goals[:, None]).sum(axis=-1))
