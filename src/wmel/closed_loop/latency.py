"""Latency is a single-decision quantity: decisions kept during a run and timed alone after it."""

import math
from dataclasses import dataclass, field
from time import perf_counter_ns

import numpy as np

from wmel.arrays import Array, take_rows
from wmel.closed_loop.steps import attributed
from wmel.contract.policy import Percept, Policy
from wmel.machine import limit_threads
from wmel.randomness import Streams

WARM_UPS = 3
THREADS = 1


@dataclass(frozen=True, eq=False)
class KeptDecision:
    """What one episode saw and remembered when it had to decide."""

    episode: int
    percept: Percept
    memory: dict[str, Array] | None
    streams: Streams


@dataclass
class DecisionSample:
    """Decisions spread evenly over a run: all of them while few, then every second, fourth, eighth ...

    At least `wanted` of a run that makes as many, and fewer than twice that.
    """

    wanted: int
    kept: list[KeptDecision] = field(default_factory=list)
    every: int = 1
    seen: int = 0

    def offer(self, episodes: np.ndarray, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> None:
        """Look at a batch of decisions just made; episodes [B] are their places in the table."""
        for row in range(len(episodes)) if self.wanted else ():
            if self.seen % self.every == 0:
                one = np.array([row])
                self.kept.append(
                    KeptDecision(int(episodes[row]), percept.rows(one), take_rows(memory, one), streams.rows(one))
                )
            self.seen += 1
            if len(self.kept) >= 2 * self.wanted:
                self.kept, self.every = self.kept[::2], 2 * self.every


def decision_times(policy: Policy, sample: DecisionSample, budget: float = math.inf) -> list[tuple[int, float]]:
    """(episode, milliseconds) of kept decisions at batch 1, warm, on one thread; one that now fails is left out.

    When a budget of seconds is spent no further one is timed; they are taken in an order spread over the run.
    """
    if not sample.kept:
        return []
    times, order = [], np.random.default_rng(0).permutation(len(sample.kept))
    with limit_threads(THREADS):
        until = perf_counter_ns() + 1e9 * min(budget, 1e6)
        attributed(lambda rows: [_seconds(policy, sample.kept[0]) for _ in range(WARM_UPS)], np.arange(1))
        for place in order:
            one = sample.kept[place]
            outcome = attributed(lambda rows, one=one: _seconds(policy, one), np.arange(1))
            times += [(int(place), 1e3 * seconds) for _, seconds in outcome.pieces]
            if perf_counter_ns() > until:
                break
    return [(sample.kept[place].episode, milliseconds) for place, milliseconds in sorted(times)]


def _seconds(policy: Policy, decision: KeptDecision) -> float:
    begin = perf_counter_ns()
    memory = policy.observe(decision.percept, decision.memory)
    policy.act(decision.percept, memory, decision.streams)
    return (perf_counter_ns() - begin) / 1e9
