"""Perturbed runs: who is struck, when, and what is counted."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from tests.closed_loop.worlds import Countdown, Scripted, Slope, waiting
from wmel import BenchmarkRunner, catalog
from wmel.analysis.scorecard import metric
from wmel.closed_loop.run import episode_seeds, run_episodes
from wmel.closed_loop.steps import NEVER, schedule_perturbations
from wmel.contract.perturbation import Disturbance
from wmel.contract.policy import Decision
from wmel.perturbations import ActionDelay, DropNextActions, EnvPerturbation, NoEffect, ObservationNoise
from wmel.schema import OUTCOMES


@dataclass(frozen=True)
class TwoStates(Countdown):
    """Standing or fallen: only standing counts down. A push fells everyone; one in four, by the seed, gets up again."""

    def reset(self, seeds):
        left = np.full(len(seeds), self.lengths[0], float)
        return np.stack([left, np.zeros(len(seeds)), np.array(seeds) % 4 == 0], axis=1)

    def step(self, states, actions):
        left, fallen, hardy = states.T
        left = np.where(fallen == 1, left, np.maximum(left - 1, 0))
        return np.stack([left, np.where(hardy == 1, 0, fallen), hardy], axis=1)

    def observe(self, states):
        return states[:, :1]

    def perturb(self, states, streams):
        return np.stack([states[:, 0], np.ones(len(states)), states[:, 2]], axis=1)


def test_the_counts_are_those_known_by_hand():
    """12 steps to success of 20 allowed, struck at 1..10: everyone is struck, and the one in four recovers."""
    run = BenchmarkRunner(TwoStates((12,)), waiting(), episodes=400, horizon=20, perturb_prob=1.0, seed=0).run()
    assert run.table["perturbed"].all()
    assert np.array_equal(run.table["success"], run.table["episode_seed"] % 4 == 0)
    assert run.table["steps"][run.table["success"]].tolist() == [13] * 100  # one step lost to getting up
    assert (run.table["unperturbed_success"] == 1).all()
    rate = metric("perturbation_recovery_rate")(run.table)
    assert (rate.value, rate.n) == (0.25, 400)
    assert metric("perturbation_recovery_ratio")(run.table).value == 0.25


def test_an_episode_that_ends_before_its_step_is_not_perturbed():
    """Success after 5 steps, struck at 1..10: those scheduled for 1..4 are struck, the others are done by then."""
    seeds = episode_seeds(0, 1000)
    table = run_episodes(
        TwoStates((5,)),
        waiting(),
        seeds,
        max_steps=20,
        disturbance=Disturbance(EnvPerturbation(), 1.0),
        timed_decisions=0,
    )
    schedule = schedule_perturbations(Disturbance(EnvPerturbation(), 1.0), seeds, 20)
    assert np.array_equal(table["perturbed"], schedule <= 4)
    assert table["success"][~table["perturbed"]].all()


def test_steps_are_uniform_over_the_first_half_and_struck_as_often_as_asked():
    seeds = np.arange(20000)
    steps = schedule_perturbations(Disturbance(EnvPerturbation(), 0.3), seeds, 21)
    hit = steps[steps != NEVER]
    assert abs(len(hit) / 20000 - 0.3) < 4 * math.sqrt(0.3 * 0.7 / 20000)
    counts = np.bincount(hit, minlength=11)
    assert counts[0] == 0 and len(counts) == 11  # 1..10
    # a chi-squared statistic of 10 cells exceeds 29.7 with probability 0.0005
    assert ((counts[1:] - len(hit) / 10) ** 2 / (len(hit) / 10)).sum() < 29.7


def test_more_probability_strikes_the_same_episodes_and_more():
    seeds = np.arange(1000)
    few, many = (schedule_perturbations(Disturbance(EnvPerturbation(), p), seeds, 40) for p in (0.2, 0.6))
    assert np.array_equal(few[few != NEVER], many[few != NEVER])


@pytest.mark.parametrize("max_steps", [1, 2, 3])
def test_a_short_episode_can_only_be_struck_at_step_one(max_steps):
    assert set(schedule_perturbations(Disturbance(EnvPerturbation(), 1.0), np.arange(50), max_steps)) == {1}


def test_an_emptied_queue_is_replanned_in_the_same_step_from_the_state_as_it_is():
    """A policy that plans 8 waits at a time is struck once and decides once more, without losing a step."""
    table = run_episodes(
        Countdown((8,)),
        waiting(length=8),
        np.arange(20),
        max_steps=10,
        disturbance=Disturbance(DropNextActions(99), 1.0),
        timed_decisions=0,
    )
    assert (table["plan_calls"] == 2).all() and (table["steps"] == 8).all() and table["success"].all()


def test_the_plan_in_force_was_made_before_the_push_and_the_next_one_sees_it():
    seen = []

    def decide(percept, streams):
        seen.append(percept.state[:, 1].copy())
        return waiting(length=30).act(percept, None, streams)

    world = TwoStates((12,))
    run_episodes(
        world,
        Scripted(decide),
        np.arange(1, 4),
        max_steps=20,
        disturbance=Disturbance(catalog.perturbation("composite:env-default+drop-next-99"), 1.0),
        timed_decisions=0,
    )
    assert (seen[0] == 0).all() and all((later == 1).all() for later in seen[1:])


def test_a_policy_with_a_memory_sees_one_frame_per_step_even_when_it_replans():
    """It counts its frames; a replan in the same step must not add one."""

    class Counting:
        name, reads, compute_per_plan_call, settings = "counting", "observation", None, {}

        def observe(self, percept, memory):
            return {"frames": (np.zeros(len(percept)) if memory is None else memory["frames"]) + 1}

        def act(self, percept, memory, streams):
            count = len(percept)
            frames.append((memory["frames"] - (10 - percept.steps_left) - 1).tolist())
            return Decision(np.zeros((count, 4, 1), np.int32), np.full(count, 4), memory, np.zeros(count, int))

    frames = []
    run_episodes(
        Countdown((9,)),
        Counting(),
        np.arange(12),
        max_steps=10,
        disturbance=Disturbance(DropNextActions(99), 1.0),
        timed_decisions=0,
    )
    assert all(set(row) == {0.0} for row in frames)


def test_a_delay_postpones_what_a_policy_does():
    def push(percept, streams):
        return Decision(
            np.full((len(percept), 1, 1), 0.25, np.float32),
            np.ones(len(percept), int),
            None,
            np.zeros(len(percept), int),
        )

    class Idling(Slope):
        @property
        def spec(self):
            return replace(super().spec, idle=np.zeros(1, np.float32))

    table = run_episodes(
        Idling(), Scripted(push), np.arange(8), disturbance=Disturbance(ActionDelay(2), 1.0), timed_decisions=0
    )
    assert table["perturbed"].any() and not table["perturbed"].all()
    # four pushes of a quarter, and two idle steps where the delay struck before they were done
    assert np.array_equal(table["steps"], np.where(table["perturbed"], 6, 4))


def test_noise_is_seen_and_changes_nothing_in_the_world(maze):
    alone = run_episodes(maze, catalog.policy("random", maze), np.arange(50), timed_decisions=0)
    noisy = run_episodes(
        maze,
        catalog.policy("random", maze),
        np.arange(50),
        disturbance=Disturbance(ObservationNoise(3.0), 1.0),
        timed_decisions=0,
    )
    for name in set(OUTCOMES) - {"perturbed"}:
        assert np.array_equal(alone[name], noisy[name], equal_nan=alone[name].dtype.kind == "f")


def test_who_reads_the_state_reads_the_one_recovered_from_the_noisy_observation(maze):
    policy = catalog.policy("tabular-world-model", maze)
    clean = run_episodes(maze, policy, np.arange(40), timed_decisions=0)
    noisy = run_episodes(
        maze, policy, np.arange(40), disturbance=Disturbance(ObservationNoise(2.0), 1.0), timed_decisions=0
    )
    assert noisy["success"].mean() < clean["success"].mean()


def test_a_perturbation_that_breaks_ends_only_the_episodes_it_broke():
    class Fragile(NoEffect):
        name, window = "fragile", 1

        def strike(self, environment, moment, streams):
            if (streams.episode_seeds == 7).any():
                raise OSError("cable")
            return moment

    table = run_episodes(
        Countdown((9,)),
        waiting(),
        np.arange(12),
        max_steps=10,
        disturbance=Disturbance(Fragile(), 1.0),
        timed_decisions=0,
    )
    assert [bool(error) for error in table["error"]] == [row == 7 for row in range(12)]


def test_the_published_perturbed_greedy_takes_as_long_as_ours():
    """12.5 steps over 50 episodes at probability .3: inside the middle 99% of 400 such runs here; success 1.0."""
    world = catalog.environment("two_room_toy")
    policy = catalog.policy("greedy", world)
    run = BenchmarkRunner(world, policy, 20000, horizon=60, perturb_prob=0.3, seed=0, timed_decisions=0).run()
    assert run.table["success"].all()
    low, high = np.percentile(run.table["steps"].reshape(-1, 50).mean(axis=1), [0.5, 99.5])
    assert low <= 12.5 <= high


def test_an_action_that_was_dropped_never_arrives_and_a_new_one_waits_its_turn():
    """A drop that empties the plan, together with a delay of two: what is decided anew goes through the line."""
    executed = []

    class Idling(Slope):
        @property
        def spec(self):
            return replace(super().spec, idle=np.zeros(1, np.float32))

        def step(self, states, actions):
            executed.append(round(float(actions[0, 0]), 3))
            return states * 0

    calls = []

    def decide(percept, streams):
        calls.append(1)
        actions = (0.01 * len(calls) + 0.001 * np.arange(8, dtype=np.float32))[None, :, None]
        return Decision(actions.astype(np.float32), np.array([8]), None, np.zeros(1, int))

    both = catalog.perturbation("composite:drop-next-9+action-delay-2")
    run_episodes(Idling(), Scripted(decide), [3], disturbance=Disturbance(both, 1.0), max_steps=8, timed_decisions=0)
    struck = schedule_perturbations(Disturbance(both, 1.0), np.array([3]), 8)[0]
    before, anew = ([round(base + 0.001 * step, 3) for step in range(8)] for base in (0.01, 0.02))
    assert executed == [0.0, *[*before[:struck], 0.0, 0.0, *anew][:8]]  # the first call judges the start


def test_an_episode_that_noise_ends_at_its_step_was_perturbed():
    def decide(percept, streams):
        if (percept.observation != np.rint(percept.observation)).any():
            raise OSError("cannot see")
        return waiting().act(percept, None, streams)

    table = run_episodes(
        Countdown((9,)),
        Scripted(decide),
        np.arange(20),
        max_steps=10,
        disturbance=Disturbance(ObservationNoise(0.3), 1.0),
        timed_decisions=0,
    )
    assert (table["error"] != "").all() and table["perturbed"].all()


@pytest.mark.parametrize(
    "changes", [{"lengths": np.array([500])}, {"lengths": np.array([-1])}, {"queue": np.full((1, 1, 1), 77, np.int32)}]
)
def test_what_a_perturbation_returns_is_checked(changes):
    class Wild(NoEffect):
        name, window = "wild", 1

        def strike(self, environment, moment, streams):
            return replace(moment, **changes)

    table = run_episodes(
        Countdown((9,)), waiting(), [0], max_steps=10, disturbance=Disturbance(Wild(), 1.0), timed_decisions=0
    )
    assert table["error"][0].startswith(("BadStep", "BadDecision"))
