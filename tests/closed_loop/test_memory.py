"""Memory, queues and bookkeeping of the loop, held against a second implementation that runs one episode at a time."""

from dataclasses import dataclass

import numpy as np
import pytest

from tests.closed_loop.worlds import Countdown
from tests.conftest import says
from wmel.closed_loop.run import run_episodes
from wmel.contract.policy import Decision
from wmel.schema import OUTCOMES

MAX_STEPS, BAD = 12, 5


@dataclass(frozen=True)
class Diary:
    """Remembers everything it is shown and decides by it: plan lengths differ from row to row and call to call."""

    name: str = "diary"
    reads: str = "observation"
    compute_per_plan_call: int | None = 7
    fault: bool = False

    @property
    def settings(self):
        return {}

    def observe(self, percept, memory):
        old = {"frames": np.zeros(len(percept)), "sum": np.zeros(len(percept)), "calls": np.zeros(len(percept))}
        old = old if memory is None else memory
        seen = percept.observation[:, 0] + 10 * percept.last_action[:, 0] + 3 * percept.steps_left
        return {"frames": old["frames"] + 1, "sum": old["sum"] + seen, "calls": old["calls"]}

    def act(self, percept, memory, streams):
        if self.fault and ((streams.episode_seeds == BAD) & (streams.counters == 1)).any():
            raise RuntimeError("planted")
        lengths = 1 + (memory["sum"].astype(int) + memory["calls"].astype(int) + streams.episode_seeds) % 4
        lengths = np.minimum(lengths, percept.steps_left)
        actions = np.zeros((len(percept), 4, 1), np.int32)
        actions[:, :, 0] = (np.arange(4) + memory["calls"][:, None] + streams.episode_seeds[:, None]) % 2
        steps = (memory["sum"] * 10 + memory["frames"]).astype(int)
        return Decision(actions, lengths, {**memory, "calls": memory["calls"] + 1}, steps)


def one_episode(world, seed):
    """The same diary kept by hand: a plain loop over one episode, with Python numbers."""
    state, steps, queue, last = float(world.reset(np.array([seed]))[0, 0]), 0, [], 0
    frames = total = calls = model_steps = 0
    while steps < MAX_STEPS:
        frames, total = frames + 1, total + state + 10 * last + 3 * (MAX_STEPS - steps)
        if not queue:
            length = min(1 + (int(total) + calls + seed) % 4, MAX_STEPS - steps)
            queue = [(place + calls + seed) % 2 for place in range(length)]
            model_steps += int(total * 10 + frames)
            calls += 1
        last = queue.pop(0)
        state = float(world.step(np.array([[state]]), None)[0, 0])
        steps += 1
        if state == 0:
            return True, steps, calls, model_steps
    return False, steps, calls, model_steps


WORLD, SEEDS = Countdown((9, -1, 4, 11, 7)), np.arange(23)


@pytest.mark.parametrize("block", [1, 4, 64])
def test_a_policy_with_a_memory_does_what_it_would_do_alone(block):
    table = run_episodes(WORLD, Diary(), SEEDS, max_steps=MAX_STEPS, block=block, timed_decisions=0)
    expected = [one_episode(WORLD, seed) for seed in SEEDS.tolist()]
    for place, name in enumerate(("success", "steps", "plan_calls", "model_steps")):
        assert table[name].tolist() == [row[place] for row in expected], name
    assert np.array_equal(table["declared_compute"], 7.0 * table["plan_calls"])


@pytest.mark.parametrize("block", [1, 4, 64])
def test_a_fault_scrambles_no_memory(block):
    healthy = run_episodes(WORLD, Diary(), SEEDS, max_steps=MAX_STEPS, timed_decisions=0)
    faulty = run_episodes(WORLD, Diary(fault=True), SEEDS, max_steps=MAX_STEPS, block=block, timed_decisions=0)
    others = SEEDS != BAD
    assert faulty["error"][BAD] == "RuntimeError: planted"
    for name in OUTCOMES:
        assert np.array_equal(faulty[name][others], healthy[name][others], equal_nan=healthy[name].dtype.kind == "f")


def test_act_may_leave_the_memory_to_observe():
    class Forgetful(Diary):
        def act(self, percept, memory, streams):
            decision = super().act(percept, memory, streams)
            return Decision(decision.actions, decision.lengths, None, memory["frames"].astype(int))

    tables = [
        run_episodes(WORLD, Forgetful(), SEEDS, max_steps=MAX_STEPS, block=block, timed_decisions=0)
        for block in (1, 4, 64)
    ]
    assert tables[0]["model_steps"].max() > MAX_STEPS  # frames were counted across decisions
    for other in tables[1:]:
        assert np.array_equal(other["model_steps"], tables[0]["model_steps"])


@pytest.mark.parametrize("memory", [{"other": np.zeros(1)}, {}])
def test_a_memory_of_other_arrays_is_an_error_of_the_policy(memory):
    class Confused(Diary):
        def act(self, percept, observed, streams):
            decision = super().act(percept, observed, streams)
            return Decision(decision.actions, decision.lengths, memory, decision.model_steps)

    table = run_episodes(WORLD, Confused(), SEEDS[:1], timed_decisions=0)
    assert table["error"][0].startswith("BadDecision: act must return")


def test_a_memory_of_the_wrong_length_is_an_error_of_the_policy():
    class Short(Diary):
        def observe(self, percept, memory):
            return {"frames": np.zeros(0)}

    assert says(run_episodes(WORLD, Short(), SEEDS[:1], timed_decisions=0)["error"][0], "must ... 1 ... 'frames' ... 0")


def test_latency_is_credited_to_the_episode_that_decided():
    table = run_episodes(WORLD, Diary(), SEEDS, max_steps=MAX_STEPS, block=4)
    assert [len(row) for row in table["planning_latencies_ms"]] == table["plan_calls"].tolist()


def test_a_decision_is_timed_with_the_memory_it_was_made_with():
    """Timed again, every decision must come to the same model steps as in the run."""
    made = []

    class Noting(Diary):
        def act(self, percept, memory, streams):
            decision = super().act(percept, memory, streams)
            for row, steps in enumerate(decision.model_steps.tolist()):
                made.append((int(streams.episode_seeds[row]), int(streams.counters[row]), steps))
            return decision

    run_episodes(WORLD, Noting(), SEEDS, max_steps=MAX_STEPS)
    steps = {}
    for seed, moment, count in made:
        assert steps.setdefault((seed, moment), count) == count
    assert len(made) > 2 * len(steps) - 5  # each was made in the run and once more for timing


def test_decisions_are_timed_warm_and_on_one_thread():
    from threadpoolctl import threadpool_info

    seen = []

    class Counting(Diary):
        def act(self, percept, memory, streams):
            seen.append({pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"})
            return super().act(percept, memory, streams)

    table = run_episodes(WORLD, Counting(), SEEDS[:2], max_steps=MAX_STEPS, block=1)
    timed = sum(len(row) for row in table["planning_latencies_ms"])
    in_run = int(table["plan_calls"].sum())
    assert len(seen) == in_run + timed + 3  # three calls to warm up
    assert all(threads == {1} for threads in seen[in_run:])


def test_a_policy_that_fails_only_when_timed_keeps_its_rows():
    calls = []

    class Tired(Diary):
        def act(self, percept, memory, streams):
            calls.append(1)
            if len(calls) > 60:
                raise RuntimeError("tired")
            return super().act(percept, memory, streams)

    table = run_episodes(WORLD, Tired(), SEEDS, max_steps=MAX_STEPS)
    assert not (table["error"] != "").any()
    assert sum(len(row) for row in table["planning_latencies_ms"]) < table["plan_calls"].sum()
