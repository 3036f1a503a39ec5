"""Latency of single decisions: a sample of the decisions of a run, repeated one by one after the run."""

import math
from dataclasses import dataclass, field
from time import perf_counter_ns

import numpy as np

from wmel.arrays import Array, take_rows
from wmel.closed_loop.steps import attribute_errors
from wmel.contract.policy import Percept, Policy
from wmel.machine import limit_threads
from wmel.randomness import Streams

WARM_UPS = 3
THREADS = 1


@dataclass(frozen=True, eq=False)
class SampledDecision:
    """The inputs of one decision of one episode."""

    episode: int
    percept: Percept
    memory: dict[str, Array] | None
    streams: Streams


@dataclass
class DecisionSample:
    """An evenly spaced sample of the decisions of a run: all of them, then every second, fourth, eighth, and so on.

    Its size is at least `target` if the run has that many decisions, and always below twice `target`.
    """

    target: int
    decisions: list[SampledDecision] = field(default_factory=list)
    stride: int = 1
    offered: int = 0

    def offer(self, episodes: np.ndarray, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> None:
        """Adds the decisions of a batch that belong to the sample. `episodes` [B] are rows of the table."""
        for row in range(len(episodes)) if self.target else ():
            if self.offered % self.stride == 0:
                one = np.array([row])
                self.decisions.append(
                    SampledDecision(int(episodes[row]), percept.rows(one), take_rows(memory, one), streams.rows(one))
                )
            self.offered += 1
            if len(self.decisions) >= 2 * self.target:
                self.decisions, self.stride = self.decisions[::2], 2 * self.stride


def time_decisions(policy: Policy, sample: DecisionSample, budget: float = math.inf) -> list[tuple[int, float]]:
    """(episode, milliseconds) of sampled decisions at batch 1, after a warm-up, on one thread.

    Decisions that raise an error are left out. Timing stops once it has taken `budget` seconds; the order of the
    decisions is random, so that those timed are spread over the run.
    """
    if not sample.decisions:
        return []
    times, order = [], np.random.default_rng(0).permutation(len(sample.decisions))
    with limit_threads(THREADS):
        until = perf_counter_ns() + 1e9 * min(budget, 1e6)
        attribute_errors(lambda rows: [_seconds(policy, sample.decisions[0]) for _ in range(WARM_UPS)], np.arange(1))
        for place in order:
            one = sample.decisions[place]
            outcome = attribute_errors(lambda rows, one=one: _seconds(policy, one), np.arange(1))
            times += [(int(place), 1e3 * seconds) for _, seconds in outcome.pieces]
            if perf_counter_ns() > until:
                break
    return [(sample.decisions[place].episode, milliseconds) for place, milliseconds in sorted(times)]


def _seconds(policy: Policy, decision: SampledDecision) -> float:
    begin = perf_counter_ns()
    memory = policy.observe(decision.percept, decision.memory)
    policy.act(decision.percept, memory, decision.streams)
    return (perf_counter_ns() - begin) / 1e9
