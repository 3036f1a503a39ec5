import numpy as np
import pytest

from tests.closed_loop.worlds import Slope
from wmel import CEM, GoalDistance, ModelPredictive, Oracle, RandomShooting
from wmel.closed_loop.run import run_episodes
from wmel.contract.planner import Plan
from wmel.contract.world_model import WorldModelSpec
from wmel.errors import BadInput
from wmel.policies import model_predictive
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
    decide(policy, maze, percept_of, moment=1, memory=first.memory, steps_left=59)  # only one step has passed
    decide(policy, maze, percept_of, moment=1, memory=first.memory, steps_left=57)
    assert arrived[0].lengths.tolist() == [0, 0, 0]
    for remainder, passed in ((arrived[1], 1), (arrived[2], 3)):
        assert remainder.lengths.tolist() == [20 - passed] * 3
        assert np.array_equal(remainder.actions[:, : 20 - passed], first.actions[:, passed:])


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
    with pytest.raises(BadInput, match="part of a plan"):
        policy_of(maze, RandomShooting(warm_start=True))


def test_execute_must_be_positive(maze):
    with pytest.raises(BadInput, match="execute must be positive"):
        policy_of(maze, RandomShooting(), execute=0)


def test_groups_that_fit_the_memory_budget_plan_as_one(maze, percept_of, monkeypatch):
    class Spoiled(GoalDistance):
        def costs(self, observations, actions, goals):
            costs = super().costs(observations, actions, goals)
            costs[observations[:, 0, 1] == 4] = np.inf  # the rows that start one cell down
            return costs

    states = maze.reset(np.arange(7))
    states[[2, 5]] = maze.step(states[[2, 5]], np.array([[1], [1]]))
    percept, streams = percept_of(maze, states), Streams(np.arange(7), np.zeros(7, int))
    planner = RandomShooting(20, 50, warm_start=True)
    policy = ModelPredictive("p", maze.spec, Oracle(maze), Spoiled(), planner, execute=3)
    whole = policy.act(percept, policy.observe(percept, None), streams)
    calls = []
    plan = RandomShooting.plan
    monkeypatch.setattr(RandomShooting, "plan", lambda *a: calls.append(len(a[1].streams)) or plan(*a))
    monkeypatch.setattr(model_predictive, "BYTES_OF_CANDIDATES", 2 * 4 * 20 * 50)
    split = policy.act(percept, policy.observe(percept, None), streams)
    assert calls == [2, 2, 2, 1]
    assert np.array_equal(split.actions, whole.actions) and np.array_equal(split.lengths, whole.lengths)
    assert split.errors == whole.errors and set(split.errors) == {2, 5}
    assert all(np.array_equal(split.memory[name], whole.memory[name]) for name in whole.memory)
    assert np.array_equal(split.model_steps, whole.model_steps)


@pytest.mark.parametrize("settings", [{}, {"warm_start": True, "execute": 2}])
def test_a_model_in_torch_goes_through_the_whole_loop(settings):
    torch = pytest.importorskip("torch", reason="install wmel[learned]")
    slope = Slope()

    class Line:
        """The slope in torch."""

        spec = WorldModelSpec("line")

        def encode(self, percept, previous):
            return torch.as_tensor(percept.observation)

        def step(self, latents, actions):
            return latents + actions

        def decode(self, latents):
            return latents

    def run(model):
        planner = CEM(plan_horizon=4, candidates=20, warm_start=settings.get("warm_start", False))
        policy = ModelPredictive("p", slope.spec, model, GoalDistance(), planner, settings.get("execute"))
        return run_episodes(slope, policy, np.arange(10), timed_decisions=0)

    in_torch, in_numpy = run(Line()), run(Oracle(slope))
    assert not (in_torch["error"] != "").any()
    assert np.array_equal(in_torch["steps"], in_numpy["steps"])
