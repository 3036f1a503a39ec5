"""What two arms may show, with the probability of each outcome."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wmel.stats.bisection import leading
from wmel.stats.log_space import log_factorials, times_log

NEGLIGIBLE = 1e-12  # counts less likely than this are left out


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Two counts, both ascending, and how likely each combination is."""

    first: np.ndarray  # [R]
    second: np.ndarray  # [C]
    mass: np.ndarray  # [R, C]

    def leading(self, holds: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        """For each first count, how many of the smallest second counts satisfy what no larger one does [R]."""
        limit = np.full(len(self.first), len(self.second))
        return leading(lambda place: holds(self.first, self.second[place]), limit)

    def chance(self, since: np.ndarray, until: np.ndarray) -> float:
        """Probability that the second count has a place in [since, until), which depends on the first [R]."""
        places = np.arange(len(self.second))
        return float(self.mass[(places >= since[:, None]) & (places < until[:, None])].sum())


def independent(n: int, oracle: float, learned: float) -> Outcomes:
    """Successes of two independent arms of n episodes."""
    (s_o, of_o), (s_l, of_l) = _likely(n, oracle), _likely(n, learned)
    return Outcomes(s_o, s_l, of_o[:, None] * of_l)


def discordant(n: int, oracle_only: float, learned_only: float) -> Outcomes:
    """Pairs of n that only the oracle, or only the learned arm, solves."""
    (b, _), (c, _), logs = _likely(n, oracle_only), _likely(n, learned_only), log_factorials(n)
    room = n - b[:, None] - c
    rest = np.arange(n + 1)
    of_b, of_c = times_log(rest, oracle_only) - logs, times_log(rest, learned_only) - logs
    of_rest = times_log(rest, max(0.0, 1 - oracle_only - learned_only)) - logs
    mass = np.exp(logs[n] + of_b[b][:, None] + of_c[c] + of_rest[np.maximum(room, 0)])
    return Outcomes(b, c, np.where(room >= 0, mass, 0.0))


def binomial_table(n: int, share: float) -> np.ndarray:
    """Probabilities [n+1] of every number of successes in n episodes."""
    counts, logs = np.arange(n + 1), log_factorials(n)
    ways = logs[n] - logs - logs[::-1]
    return np.exp(ways + times_log(counts, share) + times_log(n - counts, 1 - share))


def _likely(n: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """The counts that can be expected of n episodes, and their probabilities."""
    mass = binomial_table(n, share)
    likely = np.flatnonzero(mass > NEGLIGIBLE)
    return likely, mass[likely]
