import multiprocessing

import numpy as np
import pytest

from tests.closed_loop.worlds import Countdown, Scripted, Slope, waiting
from wmel import catalog
from wmel.closed_loop.run import episode_seeds, run_episodes
from wmel.contract.criterion import Criterion, Stop, When
from wmel.contract.policy import Decision
from wmel.errors import BadInput
from wmel.models.oracle import Oracle
from wmel.objectives import GoalDistance
from wmel.planners.cem import CEM
from wmel.policies.model_predictive import ModelPredictive
from wmel.schema import OUTCOMES


def assert_same_rows(one, other):
    for name in OUTCOMES:
        assert np.array_equal(one[name], other[name], equal_nan=one[name].dtype.kind == "f"), name


def maze_run(policy_name, seeds, block=64):
    maze = catalog.environment("maze_toy")
    policy = catalog.policy(policy_name, maze)
    return run_episodes(maze, policy, seeds, block=block, timed_decisions=0)


def slope_policy(**settings):
    slope = Slope()
    planner = CEM(plan_horizon=4, candidates=20, elites=5, **settings)
    return slope, ModelPredictive("cem", slope.spec, Oracle(slope), GoalDistance(), planner, 2)


SEEDS = episode_seeds(3, 70)


@pytest.mark.parametrize("policy_name", ["random", "greedy", "tabular-world-model", *catalog.PLANNERS.parts])
@pytest.mark.parametrize("block", [1, 4])
def test_the_block_changes_no_row(policy_name, block):
    assert_same_rows(maze_run(policy_name, SEEDS), maze_run(policy_name, SEEDS, block))


@pytest.mark.parametrize("warm_start", [False, True])
def test_the_block_changes_no_row_in_a_box(warm_start):
    slope, policy = slope_policy(warm_start=warm_start)
    whole = run_episodes(slope, policy, SEEDS, timed_decisions=0)
    for block in (1, 4):
        assert_same_rows(whole, run_episodes(slope, policy, SEEDS, block=block, timed_decisions=0))


def test_the_order_of_seeds_changes_no_row():
    forward, backward = maze_run("tabular-world-model", SEEDS), maze_run("tabular-world-model", SEEDS[::-1], 8)
    for name in OUTCOMES:
        equal_nan = forward[name].dtype.kind == "f"
        assert np.array_equal(forward[name], backward[name][::-1], equal_nan=equal_nan), name


def test_two_processes_make_the_rows_of_one():
    halves = [("tabular-world-model", SEEDS[:30]), ("tabular-world-model", SEEDS[30:])]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        first, second = pool.starmap(maze_run, halves)
    together = maze_run("tabular-world-model", SEEDS)
    for name in OUTCOMES:
        joined = np.concatenate([first[name], second[name]])
        assert np.array_equal(joined, together[name], equal_nan=joined.dtype.kind == "f"), name


@pytest.mark.parametrize("block", [1, 8, 32, 64])
def test_short_successes_do_not_crowd_out_long_failures(block):
    """Successes take 5 steps, failures 100, and half succeed: half is what is reported."""
    table = run_episodes(Countdown((5, -1)), waiting(), np.arange(200), block=block, timed_decisions=0)
    assert table["success"].mean() == 0.5
    assert table["steps"].tolist() == [5, 100] * 100


def test_what_is_planned_is_what_is_executed():
    executed, planned = [], []

    class Watched(Slope):
        def step(self, states, actions):
            executed.append(actions.copy())
            return super().step(states, actions)

    def decide(percept, streams):
        actions = streams.uniforms("act", (3, 1))[0] * 0.5 - 0.25
        planned.append(actions)
        return Decision(actions, np.full(len(percept), 3), None, np.zeros(len(percept), int))

    run_episodes(Watched(), Scripted(decide), np.arange(5), max_steps=6, timed_decisions=0)
    assert np.array_equal(np.stack(executed, axis=1), np.concatenate(planned, axis=1))


def test_a_row_counts_what_happened():
    table = run_episodes(Countdown((7,)), waiting(length=3), np.arange(2), timed_decisions=0)
    assert table["steps"].tolist() == [7, 7]
    assert table["first_success_step"].tolist() == [7, 7]
    assert table["plan_calls"].tolist() == [3, 3]
    assert table["model_steps"].tolist() == [3, 3]
    assert np.isnan(table["declared_compute"]).all()


def test_a_decision_of_length_zero_ends_the_episode_as_a_failure():
    def give_up(percept, streams):
        count = len(percept)
        length = np.where(streams.episode_seeds % 2 == 0, 0, 1)
        return Decision(np.zeros((count, 1, 1), np.int32), length, None, np.zeros(count, int))

    table = run_episodes(Countdown((5,)), Scripted(give_up), np.arange(4), timed_decisions=0)
    assert table["success"].tolist() == [False, True, False, True]
    assert table["steps"].tolist() == [0, 5, 0, 5]
    assert (table["error"] == "").all()


def test_a_start_that_needs_no_action_is_flagged():
    standing = run_episodes(Countdown((0, 3)), waiting(), np.arange(2), timed_decisions=0)
    assert standing["pre_solved"].tolist() == [True, False]
    idling = run_episodes(Countdown((1, 3), idle=True), waiting(), np.arange(2), timed_decisions=0)
    assert idling["pre_solved"].tolist() == [True, False]


def test_a_return_exists_only_over_whole_episodes():
    world = Countdown((5, -1), reward=True)
    stopped = run_episodes(world, waiting(), np.arange(2), timed_decisions=0)
    assert np.isnan(stopped["return"]).all()
    whole = run_episodes(world, waiting(), np.arange(2), stop=Stop.HORIZON, timed_decisions=0)
    assert whole["return"].tolist() == [100, 100]
    assert whole["success"].tolist() == [True, False] and whole["first_success_step"].tolist() == [5, -1]


@pytest.mark.parametrize(
    ("when", "steps", "first"), [(When.FIRST, 1, 5), (When.SUSTAINED, 10, 14), (When.AT_END, 1, 100)]
)
def test_the_moment_of_judgement_is_part_of_the_criterion(when, steps, first):
    criterion = Criterion("left", at_most=0, when=when, steps=steps)
    table = run_episodes(
        Countdown((5, -1)), waiting(), np.arange(2), criterion=criterion, stop=Stop.HORIZON, timed_decisions=0
    )
    assert table["success"].tolist() == [True, False]
    assert table["first_success_step"].tolist() == [first, -1]


def test_a_quantity_the_world_does_not_have_is_named():
    with pytest.raises(BadInput, match=r"no quantity .height. .*; known: left"):
        run_episodes(Countdown(), waiting(), [0], criterion=Criterion("height", at_least=1))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"episode_seeds": []}, "at least one whole number"),
        ({"episode_seeds": [1, 1]}, "differ"),
        ({"episode_seeds": [-1]}, "must not be negative"),
        ({"episode_seeds": [0.5]}, "whole number"),
        ({"block": 0}, "block must be positive"),
        ({"max_steps": 0}, "horizon must be positive"),
        ({"criterion": Criterion("left", at_most=0, when=When.AT_END), "stop": "success"}, "set stop = horizon"),
        ({"timed_decisions": -1}, "must not be negative"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(changes, words):
    arguments = {"environment": Countdown(), "policy": waiting(), "episode_seeds": [0]} | changes
    with pytest.raises(BadInput, match=words):
        run_episodes(**arguments)


def test_a_policy_that_does_not_read_the_state_never_sees_it():
    seen = []

    def decide(percept, streams):
        seen.append(percept.state)
        return waiting().act(percept, None, streams)

    run_episodes(Countdown(), Scripted(decide, reads="observation"), [0], timed_decisions=0)
    assert seen and all(state is None for state in seen)


def test_progress_counts_every_episode_once():
    finished = []
    run_episodes(Countdown((5, -1)), waiting(), np.arange(10), block=4, progress=finished.append, timed_decisions=0)
    assert sum(finished) == pytest.approx(10)


@pytest.mark.parametrize(("seed", "episodes"), [(0, 0), (0, -5), (0, 100001), (-1, 5)])
def test_seeds_that_cannot_be_are_refused(seed, episodes):
    with pytest.raises(BadInput):
        episode_seeds(seed, episodes)


def test_episode_seeds_follow_the_published_formula():
    assert episode_seeds(2, 3).tolist() == [200000, 200001, 200002]
