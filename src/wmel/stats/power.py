"""How many episodes decide: exact enumeration of what two arms would show."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wmel.errors import BadInput, require, require_whole
from wmel.stats.agresti_caffo import agresti_caffo
from wmel.stats.log_space import log_factorials, times_log
from wmel.stats.miettinen_nurminen import score
from wmel.stats.normal import two_sided
from wmel.stats.tango import paired_score

LARGEST = 20_000
NEGLIGIBLE = 1e-12  # outcomes less likely than this are left out


@dataclass(frozen=True)
class Design:
    """Two arms with the rates one expects; paired arms run the same seeds and correlate by phi."""

    oracle: float
    learned: float
    paired: bool = False
    phi: float = 0.0
    equivalence: float | None = None  # margin delta; None: the question is whether there is a gap
    documents: bool = False  # the gap by the documents' Agresti-Caffo interval instead of the score interval

    def __post_init__(self):
        for name in ("oracle", "learned"):
            require(0 <= getattr(self, name) <= 1, f"the {name} rate must lie in [0, 1]", getattr(self, name))
        require(-1 <= self.phi <= 1, "phi must lie in [-1, 1]", self.phi)
        require(self.paired or self.phi == 0, "only paired arms correlate; phi needs paired", self.phi)
        if self.equivalence is not None:
            require(0 < self.equivalence < 1, "the equivalence margin must lie in (0, 1)", self.equivalence)
        if self.documents and (self.paired or self.equivalence is not None):
            raise BadInput("the documents' interval is for independent arms and a gap, not for pairs or equivalence")
        if min(self.discordant) < -1e-12:
            raise BadInput(f"rates {self.oracle:g} and {self.learned:g} cannot correlate by phi = {self.phi:g}")

    @property
    def discordant(self) -> tuple[float, float]:
        """Probabilities that only the oracle, or only the learned arm, succeeds."""
        spread = (self.oracle * (1 - self.oracle) * self.learned * (1 - self.learned)) ** 0.5
        both = self.oracle * self.learned + self.phi * spread
        return self.oracle - both, self.learned - both

    def power(self, n: int) -> float:
        """Probability that n episodes per arm decide."""
        require_whole(n, "the number of episodes")
        return _paired_power(self, n) if self.paired else _unpaired_power(self, n)


def required_episodes(design: Design, power: float = 0.8) -> int | None:
    """The n per arm from which on the decision comes with the asked probability; None where 20,000 are too few."""
    require(0 < power < 1, "power must lie in (0, 1)", power)
    enough = _doubled(lambda n: design.power(n) >= power)
    if enough is None:
        return None
    low, high = enough // 2, enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if design.power(middle) >= power else (middle, high)
    teeth = range(high + 2 * int(high**0.5) + 4, high, -1)  # power is a saw: a later tooth may fall below again
    return next((n + 1 for n in teeth if design.power(n) < power), high)


def detectable_gap(
    oracle: float, n: int, power: float = 0.8, *, paired: bool = False, phi: float = 0.0
) -> float | None:
    """The smallest gap below an oracle rate that n episodes per arm find, to a hundredth; None where none is."""
    for hundredths in range(1, round(100 * oracle) + 1):
        if Design(oracle, oracle - hundredths / 100, paired, phi).power(n) >= power:
            return hundredths / 100
    return None


def _doubled(holds: Callable[[int], bool]) -> int | None:
    n = 2
    while n <= LARGEST:
        if holds(n):
            return n
        n *= 2
    return None


def _unpaired_power(design: Design, n: int) -> float:
    (s_o, of_o), (s_l, of_l) = _binomial(n, design.oracle), _binomial(n, design.learned)
    one, other, mass = _likely(s_o, s_l, of_o[:, None] * of_l)
    total = np.array(float(n))
    if design.documents:
        low, high = agresti_caffo(one, total, other, total)
        decides = low > 0 if design.oracle >= design.learned else high < 0
    else:
        decides = _decides(design, lambda gap: score(one, total, other, total, gap))
    return float((mass * decides).sum())


def _paired_power(design: Design, n: int) -> float:
    b, c = (max(0.0, share) for share in design.discordant)
    first, second, logs = _binomial(n, b)[0], _binomial(n, c)[0], log_factorials(n)
    room = n - first[:, None] - second
    ways = logs[n] - logs[first][:, None] - logs[second] - logs[np.maximum(room, 0)]
    rates = times_log(first, b)[:, None] + times_log(second, c) + times_log(np.maximum(room, 0), 1 - b - c)
    one, other, mass = _likely(first, second, np.where(room >= 0, np.exp(ways + rates), 0.0))
    total = np.array(float(n))
    return float((mass * _decides(design, lambda gap: paired_score(one, other, total, gap))).sum())


def _likely(one: np.ndarray, other: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The outcomes of a table [one, other] worth a look: both counts and the probability of each."""
    row, column = np.nonzero(mass > NEGLIGIBLE)
    return one[row].astype(float), other[column].astype(float), mass[row, column]


def _decides(design: Design, score_at: Callable[[float], np.ndarray]) -> np.ndarray:
    """Which outcomes decide: 95% interval off zero on the expected side, or 90% interval within the margin."""
    if design.equivalence is None:
        towards = 1 if design.oracle >= design.learned else -1
        return towards * score_at(0.0) > two_sided(0.95)
    z = two_sided(0.90)
    return (score_at(-design.equivalence) > z) & (score_at(design.equivalence) < -z)


def binomial_table(n: int, share: float) -> np.ndarray:
    """Probabilities [n+1] of every number of successes in n episodes."""
    counts, logs = np.arange(n + 1), log_factorials(n)
    ways = logs[n] - logs - logs[::-1]
    return np.exp(ways + times_log(counts, share) + times_log(n - counts, 1 - share))


def _binomial(n: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """The counts that can be expected of n episodes, and their probabilities."""
    mass = binomial_table(n, share)
    likely = np.flatnonzero(mass > NEGLIGIBLE)
    return likely, mass[likely]
