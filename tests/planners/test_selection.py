import numpy as np

from wmel.contract.planner import CandidateCosts, Plan
from wmel.planners.search import cheapest, choose_cheaper, select_elites


def test_nan_and_both_infinities_are_ranked_last():
    candidates = np.arange(5.0).reshape(1, 5, 1, 1)
    outcome = CandidateCosts(np.array([[np.nan, 3.0, -np.inf, 2.0, np.inf]]), np.ones((1, 5), int))
    assert cheapest(candidates, outcome).actions[0, 0, 0] == 3
    chosen, weights = select_elites(candidates, outcome, 4)
    assert chosen[0, :2, 0, 0].tolist() == [3, 1]
    assert weights.tolist() == [[0.5, 0.5, 0, 0]]


def test_the_length_belongs_to_the_winner():
    outcome = CandidateCosts(np.array([[2.0, 1.0, 1.0]]), np.array([[7, 5, 6]]))
    assert cheapest(np.zeros((1, 3, 8, 1)), outcome).lengths.tolist() == [5]


def test_the_held_plan_wins_ties():
    def plan(cost, mark):
        return Plan(np.full((2, 1, 1), mark), np.array([mark, mark]), np.array(cost))

    kept = choose_cheaper(plan([1.0, 2.0], 1), plan([1.0, 1.5], 2))
    assert kept.actions[:, 0, 0].tolist() == [1, 2]
    assert kept.lengths.tolist() == [1, 2]
    assert kept.costs.tolist() == [1.0, 1.5]
