import time

import numpy as np
import pytest

from tests.closed_loop.worlds import Countdown, Scripted, waiting
from wmel.closed_loop.run import run_episodes
from wmel.closed_loop.steps import DecisionSample
from wmel.contract.policy import Percept
from wmel.randomness import Streams


def offer(sample, count):
    percept = Percept(np.zeros((count, 1)), np.zeros((count, 1)), None, np.zeros((count, 1)), np.ones(count, int))
    sample.offer(np.arange(count) + sample.offered, percept, None, Streams(np.arange(count), np.zeros(count, int)))


@pytest.mark.parametrize("made", [7, 99, 100, 199, 200, 201, 399, 400, 100_000])
def test_at_least_the_wanted_and_fewer_than_twice_as_many_are_kept(made):
    sample = DecisionSample(100)
    for start in range(0, made, 50):
        offer(sample, min(50, made - start))
    assert min(made, 100) <= len(sample.decisions) < 200


def test_the_kept_decisions_are_spread_evenly_over_the_run():
    sample = DecisionSample(100)
    for _ in range(37):
        offer(sample, 30)
    gaps = np.diff([decision.episode for decision in sample.decisions])
    assert len(set(gaps.tolist())) == 1


def test_a_decision_is_timed_alone_however_large_the_block():
    batches = []

    def decide(percept, streams):
        batches.append(len(percept))
        time.sleep(0.002)
        return waiting(length=5).act(percept, None, streams)

    table = run_episodes(Countdown((5,)), Scripted(decide), np.arange(20))
    times = [ms for row in table["planning_latencies_ms"] for ms in row]
    assert len(times) == 20 and min(times) >= 2
    assert batches[0] == 20 and set(batches[1:]) == {1}


def test_nothing_is_timed_when_nothing_is_asked():
    table = run_episodes(Countdown((5,)), waiting(), np.arange(3), timed_decisions=0)
    assert set(table["planning_latencies_ms"]) == {()}
