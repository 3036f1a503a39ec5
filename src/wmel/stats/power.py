"""How often a design decides, by enumeration of its outcomes, and the episodes that an interval width needs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor
from statistics import NormalDist

import numpy as np

from wmel.errors import BadInput, is_number, require, require_share, require_whole
from wmel.stats.exact import (
    EQUIVALENCE_LEVEL,
    GAP_LEVEL,
    MAX_EXACT,
    IndependentArms,
    PairedArms,
    TwoArms,
    critical_score,
    shows_gap,
)
from wmel.stats.numerics import count_leading, log_factorials, times_log
from wmel.stats.proportions import agresti_caffo

NEGLIGIBLE = 1e-12  # counts less likely than this are left out
MAX_SEARCHED = 20_000  # episodes per arm at which a search for enough power ends
MAX_ENUMERATED = 100_000  # episodes per arm whose power is enumerated
SAW_CHECKS = 24  # numbers of episodes at which the search checks that power stays up; at most twice as many
MAX_FOR_WIDTH = 100_000  # episodes per arm at which a search for a narrow interval ends


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Two counts in ascending order, and the probability of each combination."""

    first: np.ndarray  # [R]
    second: np.ndarray  # [C]
    mass: np.ndarray  # [R, C]

    def count_leading(self, holds: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        """For each first count [R], how many of the smallest second counts satisfy what no larger one does."""
        limit = np.full(len(self.first), len(self.second))
        return count_leading(lambda place: holds(self.first, self.second[place]), limit)

    def probability(self, since: np.ndarray, until: np.ndarray) -> float:
        """Probability that the place of the second count lies in [since, until); both depend on the first count [R]."""
        places = np.arange(len(self.second))
        return float(self.mass[(places >= since[:, None]) & (places < until[:, None])].sum())


def independent_outcomes(n: int, oracle: float, learned: float) -> Outcomes:
    """Successes of two independent arms of n episodes."""
    (s_o, of_o), (s_l, of_l) = _likely_counts(n, oracle), _likely_counts(n, learned)
    return Outcomes(s_o, s_l, of_o[:, None] * of_l)


def discordant_outcomes(n: int, oracle_only: float, learned_only: float) -> Outcomes:
    """Of n pairs, those that only the oracle solves and those that only the learned arm solves."""
    (b, _), (c, _), logs = _likely_counts(n, oracle_only), _likely_counts(n, learned_only), log_factorials(n)
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


def _likely_counts(n: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of successes in n episodes that are not negligibly rare, and their probabilities."""
    mass = binomial_table(n, share)
    likely = np.flatnonzero(mass > NEGLIGIBLE)
    return likely, mass[likely]


@dataclass(frozen=True)
class Design:
    """Two arms and their expected rates; paired arms run the same seeds, and their outcomes correlate by phi."""

    oracle: float
    learned: float
    paired: bool = False
    phi: float = 0.0
    equivalence: float | None = None  # margin delta; None: the aim is to show a gap
    agresti_caffo: bool = False  # the gap by the interval of the CPG paper instead of the exact test
    gap_level: float = GAP_LEVEL  # of the one-sided test of a gap

    def __post_init__(self):
        for name in ("oracle", "learned"):
            rate = getattr(self, name)
            require(is_number(rate) and 0 <= rate <= 1, f"the {name} rate must lie in [0, 1]", rate)
        require(is_number(self.phi) and -1 <= self.phi <= 1, "phi must lie in [-1, 1]", self.phi)
        require(self.paired or self.phi == 0, "only paired arms correlate; phi needs paired", self.phi)
        if self.equivalence is not None:
            require_share(self.equivalence, "the equivalence margin")
        if self.agresti_caffo and (self.paired or self.equivalence is not None):
            raise BadInput("the CPG paper's interval is for a gap of independent arms, not for pairs or equivalence")
        if not can_correlate(self.oracle, self.learned, self.phi):
            raise BadInput(f"rates {self.oracle:g} and {self.learned:g} cannot correlate by phi = {self.phi:g}")

    @property
    def discordant(self) -> tuple[float, float]:
        """Probabilities that only the oracle, or only the learned arm, succeeds."""
        both = _both_succeed(self.oracle, self.learned, self.phi)
        return max(0.0, self.oracle - both), max(0.0, self.learned - both)

    def power(self, n: int) -> float:
        """Probability that n episodes per arm decide by the strict rule: for the expected gap, or for equivalence."""
        return self._power(n, critical_score)

    def normal_power(self, n: int) -> float:
        """The same with the critical scores of a normal distribution, which many episodes have; faster to compute."""
        return self._power(n, lambda arms, difference, level: NormalDist().inv_cdf(1 - level))

    def _power(self, n: int, critical: Callable[[TwoArms, float, float], float]) -> float:
        """The score falls with every success of the second arm, so the counts that decide are consecutive."""
        require_whole(n, "the number of episodes")
        require(n <= MAX_ENUMERATED, f"power is enumerated up to {MAX_ENUMERATED} episodes per arm", n)
        rates = self.discordant if self.paired else (self.oracle, self.learned)
        outcomes = (discordant_outcomes if self.paired else independent_outcomes)(n, max(rates), min(rates))
        arms = PairedArms(n) if self.paired else IndependentArms(n, n)

        def count(holds: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
            return outcomes.count_leading(holds)

        if self.agresti_caffo:
            return outcomes.probability(
                np.zeros_like(outcomes.first), count(lambda one, other: agresti_caffo(one, n, other, n).low > 0)
            )
        reached = critical(arms, 0.0, self.gap_level)
        gap = count(lambda one, other: shows_gap(arms, one, other, self.gap_level, reached))
        if self.equivalence is None:
            return outcomes.probability(np.zeros_like(gap), gap)
        margin = self.equivalence
        near = critical(arms, -margin, EQUIVALENCE_LEVEL)
        gap_below = count(lambda one, other: ~shows_gap(arms, other, one, self.gap_level, reached))
        since = count(lambda one, other: arms.score(one, other, margin) > -near)
        until = count(lambda one, other: arms.score(one, other, -margin) >= near)
        return outcomes.probability(np.maximum(since, gap), np.minimum(until, gap_below))


def can_correlate(oracle: float, learned: float, phi: float) -> bool:
    """Whether pairs with these two rates can correlate by phi."""
    both = _both_succeed(oracle, learned, phi)
    return min(both, oracle - both, learned - both, 1 - oracle - learned + both) > -1e-12


def required_episodes(*designs: Design, power: float = 0.8) -> int | None:
    """An n per arm that decides with probability `power`, while n - 1 does not; None where 20,000 are too few.

    Of several designs any may decide; their decisions exclude one another. The search begins with normal scores and
    ends with exact ones.
    """
    require_share(power, "power")
    near = _search_normal(designs, power)
    if near is None or near > MAX_EXACT:
        return near

    def enough(n: int) -> bool:
        return sum(design.power(n) for design in designs) >= power

    while not enough(near):
        near += max(1, near // 100)
    while near > 1 and enough(near - 1):
        near -= 1
    return near


def _search_normal(designs: Sequence[Design], power: float) -> int | None:
    """The smallest n by normal scores.

    Power rises like the teeth of a saw, so it must also hold at the next teeth: every n is checked up to n = 400, and
    a few dozen beyond.
    """

    def enough(n: int) -> bool:
        return sum(design.normal_power(n) for design in designs) >= power

    low, high = 0, 1
    while not enough(high):
        if high == MAX_SEARCHED:
            return None
        low, high = high, min(high + high // 4 + 1, MAX_SEARCHED)  # small steps: equivalence ends where a gap shows
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    last = high + 2 * int(high**0.5) + 8
    checks = range(last, high, -max(1, (last - high) // SAW_CHECKS))
    below = next((n for n in checks if not enough(n)), high - 1)
    return next((n for n in range(below + 1, last + 1) if enough(n)), high)


def detectable_gap(
    oracle: float, n: int, power: float = 0.8, *, paired: bool = False, phi: float = 0.0
) -> float | None:
    """The smallest gap below an oracle rate that n episodes per arm detect, to a hundredth; None if there is none."""
    require_share(power, "power")
    require(is_number(oracle) and 0 <= oracle <= 1, "the oracle rate must lie in [0, 1]", oracle)
    for hundredths in range(1, floor(100 * oracle + 1e-9) + 1):
        learned = max(0.0, oracle - hundredths / 100)
        feasible = can_correlate(oracle, learned, phi) and (phi == 0 or learned > 0)
        if feasible and Design(oracle, learned, paired, phi).power(n) >= power:
            return hundredths / 100
    return None


def _both_succeed(oracle: float, learned: float, phi: float) -> float:
    """Probability that both arms of a pair succeed."""
    return oracle * learned + phi * (oracle * (1 - oracle) * learned * (1 - learned)) ** 0.5


def expected_half_width(oracle: float, learned: float, n: int) -> float:
    """Half-width of the 95% interval when n episodes per arm show exactly these rates."""
    low, high = agresti_caffo(oracle * n, n, learned * n, n)
    return float(high - low) / 2


def episodes_for_half_width(oracle: float, learned: float, half_width: float) -> int | None:
    """The fewest episodes per arm with a 95% interval of at most this half-width; None where 100,000 are too few."""
    require(0 < half_width < 1, "a half-width must lie in (0, 1)", half_width)
    if expected_half_width(oracle, learned, MAX_FOR_WIDTH) > half_width:
        return None
    low, high = 0, MAX_FOR_WIDTH
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if expected_half_width(oracle, learned, middle) <= half_width else (middle, high)
    return high
