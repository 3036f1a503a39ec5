import numpy as np
import pytest

from wmel import CEM, GoalDistance, ModelPredictive, Oracle, RandomShooting
from wmel.contract.planner import Plan
from wmel.errors import BadInput
from wmel.randomness import Streams


def policy_of(maze, planner, execute=None):
    return ModelPredictive("p", maze.spec, Oracle(maze), GoalDistance(), planner, execute)


def decide(policy, maze, percept_of, *, rows=3, steps_left=60, moment=0, memory=None):
    percept = percept_of(maze, maze.reset(np.arange(rows)), steps_left)
    memory = policy.observe(percept, memory)
    return policy.act(percept, memory, Streams(np.arange(rows), np.full(rows, moment)))


def test_it_declares_candidates_times_horizon(maze):
    assert policy_of(maze, RandomShooting(20, 200)).compute_per_plan_call == 4000
    assert policy_of(maze, CEM(15)).compute_per_plan_call == 1080


def test_a_plan_never_looks_past_the_end_and_counts_what_it_imagined(maze, percept_of):
    decision = decide(policy_of(maze, RandomShooting(20, 50)), maze, percept_of, steps_left=6)
    assert decision.actions.shape == (3, 6, 1)
    assert decision.model_steps.tolist() == [300, 300, 300]


def test_execute_limits_how_much_of_a_plan_is_executed(maze, percept_of):
    whole = decide(policy_of(maze, RandomShooting(20, 50)), maze, percept_of)
    cut = decide(policy_of(maze, RandomShooting(20, 50), execute=2), maze, percept_of)
    assert (whole.lengths > 2).any()
    assert np.array_equal(cut.lengths, np.minimum(whole.lengths, 2))


def test_the_last_plan_arrives_moved_up_by_what_was_executed(maze, percept_of):
    arrived = []

    class Watched(RandomShooting):
        def plan(self, problem, previous) -> Plan:
            arrived.append(previous)
            return super().plan(problem, previous)

    policy = policy_of(maze, Watched(20, 50, warm_start=True), execute=3)
    first = decide(policy, maze, percept_of)
    decide(policy, maze, percept_of, moment=1, memory=first.memory)
    assert arrived[0].lengths.tolist() == [0, 0, 0]
    for row, executed in enumerate(first.lengths):
        assert arrived[1].lengths[row] == 20 - executed
        assert np.array_equal(arrived[1].actions[row, : 20 - executed], first.actions[row, executed:])


def test_an_infinite_cost_is_an_error_of_its_row_only(maze, percept_of):
    class Spoiled(GoalDistance):
        def costs(self, observations, actions, goals):
            costs = super().costs(observations, actions, goals)
            costs[50:100] = np.inf  # the second of three episodes, 50 candidates each
            return costs

    policy = ModelPredictive("p", maze.spec, Oracle(maze), Spoiled(), RandomShooting(20, 50))
    decision = decide(policy, maze, percept_of)
    assert decision.errors == {1: "NoFiniteCandidate: none of 50 candidates had a finite cost"}


def test_a_warm_start_of_plans_executed_whole_is_refused(maze):
    with pytest.raises(BadInput, match="leaves nothing to start from"):
        policy_of(maze, RandomShooting(warm_start=True))


def test_execute_must_be_positive(maze):
    with pytest.raises(BadInput, match="execute must be positive"):
        policy_of(maze, RandomShooting(), execute=0)
