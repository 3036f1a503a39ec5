"""A row that fails ends only its own episode: the others are what they would have been."""

import numpy as np
import pytest

from tests.closed_loop.worlds import Countdown, Scripted, waiting
from tests.conftest import says
from wmel import catalog
from wmel.closed_loop.run import episode_seeds, run_episodes
from wmel.contract.policy import Decision
from wmel.models.oracle import Oracle
from wmel.objectives import GoalDistance
from wmel.policies.model_predictive import ModelPredictive
from wmel.schema import OUTCOMES

SEEDS, BAD = episode_seeds(0, 60), 37


def planted(policy, fault):
    """The policy, with a fault in the second decision of one episode."""

    class Planted:
        name, reads, compute_per_plan_call = policy.name, policy.reads, policy.compute_per_plan_call
        observe = staticmethod(policy.observe)

        def act(self, percept, memory, streams):
            decision = policy.act(percept, memory, streams)
            hit = (streams.episode_seeds == BAD) & (streams.counters == 1)
            return fault(decision, np.flatnonzero(hit)) if hit.any() else decision

    return Planted()


def exception(decision, rows):
    raise RuntimeError("planted")


def end_of_python(decision, rows):
    raise SystemExit(0)


class Halt(BaseException):
    """An exception that is no Exception."""


def halt(decision, rows):
    raise Halt("enough")


def wrong_shape(decision, rows):
    return Decision(decision.actions[:, :, :0], decision.lengths, decision.memory, decision.model_steps)


def outside_the_space(decision, rows):
    actions = decision.actions.copy()
    actions[rows] = 99
    return Decision(actions, decision.lengths, decision.memory, decision.model_steps)


def too_long(decision, rows):
    return Decision(decision.actions, decision.lengths + 1000, decision.memory, decision.model_steps)


def declared(decision, rows):
    return Decision(
        decision.actions, decision.lengths, decision.memory, decision.model_steps, {int(rows[0]): "own words"}
    )


@pytest.fixture(scope="module")
def healthy():
    maze = catalog.environment("maze_toy")
    policy = catalog.policy("tabular-world-model", maze)
    return maze, policy, run_episodes(maze, policy, SEEDS, timed_decisions=0)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (exception, "RuntimeError: planted"),
        (end_of_python, "SystemExit: 0"),
        (halt, "Halt: enough"),
        (wrong_shape, "BadDecision: ... [1,K,1], got shape (1, 20, 0)"),
        (outside_the_space, "BadDecision: action [99] at step 0"),
        (too_long, "BadDecision: ... lengths within 0..20"),
        (declared, "own words"),
    ],
)
@pytest.mark.parametrize("block", [64, 7])
def test_a_planted_fault_in_one_row_of_sixty_leaves_fifty_nine_identical(healthy, fault, words, block):
    maze, policy, expected = healthy
    table = run_episodes(maze, planted(policy, fault), SEEDS, block=block, timed_decisions=0)
    assert says(table["error"][BAD], words)
    assert not table["success"][BAD] and table["first_success_step"][BAD] == -1
    others = np.arange(60) != BAD
    for name in OUTCOMES:
        assert np.array_equal(table[name][others], expected[name][others], equal_nan=table[name].dtype.kind == "f")


def test_an_infinite_cost_in_one_row_of_sixty_leaves_fifty_nine_identical(healthy):
    """One episode's candidates all cost infinity once it stands in a cell that only it is moved to."""
    maze, policy, expected = healthy

    class Spoiled(GoalDistance):
        def costs(self, observations, actions, goals):
            costs = super().costs(observations, actions, goals)
            costs[observations[:, 0, 0] == -1] = np.inf
            return costs

    class Marked:
        """The maze, with the observation of one episode marked by an impossible coordinate."""

        spec, default_criterion = maze.spec, maze.default_criterion

        def reset(self, seeds):
            return np.concatenate([maze.reset(seeds), (seeds == BAD)[:, None]], axis=1)

        def step(self, states, actions):
            return np.concatenate([maze.step(states[:, :1], actions), states[:, 1:]], axis=1)

        def observe(self, states):
            return np.where(states[:, 1:] == 1, -1, maze.observe(states[:, :1]))

        def goals(self, states):
            return maze.goals(states[:, :1])

        def quantities(self, states, actions, after):
            return maze.quantities(states[:, :1], actions, after[:, :1])

    world = Marked()
    marked_policy = ModelPredictive(policy.name, maze.spec, Oracle(world), Spoiled(), policy.planner)
    table = run_episodes(world, marked_policy, SEEDS, timed_decisions=0)
    assert table["error"][BAD] == "NoFiniteCandidate: none of 200 candidates had a finite cost"
    others = np.arange(60) != BAD
    for name in OUTCOMES:
        assert np.array_equal(table[name][others], expected[name][others], equal_nan=table[name].dtype.kind == "f")


@pytest.mark.parametrize("method", ["reset", "step", "observe"])
def test_an_environment_that_breaks_on_one_row_loses_one_row(method):
    class Fragile(Countdown):
        pass

    def breaking(self, states, *rest):
        original = getattr(Countdown, method)(self, states, *rest)
        values = np.asarray(states).reshape(len(states), -1)[:, 0]
        if (values == 3).any():
            raise FloatingPointError("three")
        return original

    setattr(Fragile, method, breaking)
    table = run_episodes(
        Fragile((1, 2, 8, 4) if method == "reset" else (1, 2, 3, 2)), waiting(), np.arange(4), timed_decisions=0
    )
    lost = 3 if method == "reset" else 2
    assert [bool(error) for error in table["error"]] == [row == lost for row in range(4)]
    assert table["error"][lost] == "FloatingPointError: three"
    assert table["success"].tolist() == [row != lost for row in range(4)]


def test_states_of_the_wrong_shape_are_an_error_of_the_environment():
    class Flat(Countdown):
        def step(self, states, actions):
            return states[:, 0]

    table = run_episodes(Flat(), waiting(), [0], timed_decisions=0)
    assert table["error"][0] == "BadStep: an environment must return states [1,1], got shape (1,)"


def test_if_every_row_fails_every_row_says_so():
    def broken(percept, streams):
        raise OSError("no model")

    table = run_episodes(Countdown(), Scripted(broken), np.arange(9))
    assert set(table["error"]) == {"OSError: no model"}
    assert not table["steps"].any()


def test_an_interruption_is_not_an_error_row():
    def interrupted(percept, streams):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_episodes(Countdown(), Scripted(interrupted), np.arange(3))
