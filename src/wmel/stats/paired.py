"""Two arms on the same seeds: counts of pairs, Tango's score interval, McNemar's test, Holm's correction of tests."""

from dataclasses import dataclass

import numpy as np

from wmel.errors import BadInput
from wmel.stats.estimate import Bounds, finite_numbers, two_sided_z
from wmel.stats.numerics import invert_score

HALVINGS = 60
SMALLEST_RATIO = 1e-6  # ratios below are 0, and above its inverse infinite


@dataclass(frozen=True, eq=False)
class PairedCounts:
    """How many pairs are solved by both arms, by one of them only, and by neither; numbers or arrays of one shape."""

    both: np.ndarray
    oracle_only: np.ndarray
    learned_only: np.ndarray
    neither: np.ndarray

    def __post_init__(self):
        for name in ("both", "oracle_only", "learned_only", "neither"):
            counts = finite_numbers(getattr(self, name), "pair counts")
            if (counts < 0).any():
                raise BadInput(f"pair counts must not be negative, got {name} = {getattr(self, name)!r}")
            object.__setattr__(self, name, counts)
        if (self.n < 1).any():
            raise BadInput("a paired comparison needs at least one pair, got none")

    @classmethod
    def of(cls, oracle: np.ndarray, learned: np.ndarray) -> "PairedCounts":
        """Counts of two boolean arrays [n] in the same order of seeds."""
        one, other = np.asarray(oracle, bool), np.asarray(learned, bool)
        if one.shape != other.shape:
            raise BadInput(f"paired arms need as many outcomes each, got {one.size} and {other.size}")
        return cls((one & other).sum(), (one & ~other).sum(), (~one & other).sum(), (~one & ~other).sum())

    @property
    def n(self) -> np.ndarray:
        return self.both + self.oracle_only + self.learned_only + self.neither

    @property
    def gap(self) -> np.ndarray:
        """p_o - p_l"""
        return (self.oracle_only - self.learned_only) / self.n

    @property
    def phi(self) -> np.ndarray:
        """Correlation of the two outcomes of a pair; 0 where an arm always has the same outcome."""
        oracle, learned = self.both + self.oracle_only, self.both + self.learned_only
        spread = np.sqrt(oracle * (self.n - oracle) * learned * (self.n - learned))
        shared = self.both * self.neither - self.oracle_only * self.learned_only
        return np.where(spread > 0, np.clip(shared / np.where(spread > 0, spread, 1), -1, 1), 0.0)


def tango(pairs: PairedCounts, *, confidence: float = 0.95) -> Bounds:
    """Bounds of p_o - p_l: the differences that a paired score test does not reject, always inside [-1, 1]."""
    z, b, c, n = two_sided_z(confidence), pairs.oracle_only, pairs.learned_only, pairs.n
    return invert_score(lambda difference: paired_score(b, c, n, difference), np.asarray((b - c) / n), z)


def paired_score(b: np.ndarray, c: np.ndarray, n: np.ndarray, difference: object) -> np.ndarray:
    """Standardised distance of the observed gap from a hypothetical one; at 0 it is McNemar's (b - c) / sqrt(b + c)."""
    difference = np.asarray(difference, float)
    quadratic = 2 * n
    linear = -b - c + (2 * n - b + c) * difference
    constant = -c * difference * (1 - difference)
    root = np.sqrt(np.maximum(linear**2 - 4 * quadratic * constant, 0))
    learned_only = (root - linear) / (2 * quadratic)
    variance = n * (2 * learned_only + difference * (1 - difference))
    distance = b - c - n * difference
    with np.errstate(divide="ignore", invalid="ignore"):
        standardised = distance / np.sqrt(np.maximum(variance, 0))
    return np.where(np.abs(distance) < 1e-12, 0.0, standardised)


def paired_ratio(both: int, oracle_only: int, learned_only: int, *, confidence: float = 0.95) -> Bounds:
    """Bounds of p_l / p_o: the ratios that a score test of pairs does not reject (Nam and Blackwelder 2002).

    The upper one is infinite where the oracle's rate may be 0.
    """
    z, counts = two_sided_z(confidence), (float(both), float(oracle_only), float(learned_only))
    first, second = both + oracle_only, both + learned_only
    ratio = second / first if first else np.inf

    def last_accepted(inside: float, outside: float) -> float:
        for _ in range(HALVINGS):
            middle = float(np.sqrt(inside * outside))
            accepted = abs(_ratio_score(*counts, middle)) <= z
            inside, outside = (middle, outside) if accepted else (inside, middle)
        return inside

    def bound(far: float) -> float:
        return far if abs(_ratio_score(*counts, far)) <= z else last_accepted(min(max(ratio, 1e-9), 1e9), far)

    low = 0.0 if second == 0 else bound(SMALLEST_RATIO)
    high = np.inf if first == 0 else bound(1 / SMALLEST_RATIO)
    return Bounds(
        np.array(0.0 if low <= SMALLEST_RATIO else low), np.array(np.inf if high >= 1 / SMALLEST_RATIO else high)
    )


def _ratio_score(both: float, oracle_only: float, learned_only: float, theta: float) -> float:
    """Standardised distance of p_l from theta p_o. `share` is of the pairs that one arm alone, the learned one, solves
    among all pairs that are solved, at its most likely value if p_l = theta p_o; at theta = 1 it is McNemar's test.
    """
    solved = both + oracle_only + learned_only
    distance = both + learned_only - theta * (both + oracle_only)
    if solved == 0 or distance == 0:
        return 0.0
    low, high = max(0.0, (theta - 1) / theta), theta / (1 + theta)
    for _ in range(HALVINGS):
        share = (low + high) / 2
        of_both, of_oracle = theta - share * (1 + theta), 1 - theta + share * theta
        rises = (
            of_both * (learned_only * of_oracle + oracle_only * theta * share) > both * (1 + theta) * share * of_oracle
        )
        low, high = (share, high) if rises else (low, share)
    share = (low + high) / 2
    of_both, of_oracle = theta - share * (1 + theta), 1 - theta + share * theta
    variance = solved * (of_both * (1 - theta) ** 2 + of_oracle * theta**2 + share)
    return distance / float(np.sqrt(variance)) if variance > 0 else np.copysign(np.inf, distance)


def mcnemar_mid_p(oracle_only: object, learned_only: object) -> np.ndarray:
    """Two-sided mid-p of McNemar's test: how likely a fair coin splits the discordant pairs at least as unevenly.

    The observed split counts half. 1 where there are no discordant pairs.
    """
    fewer, more = _ordered_counts(oracle_only, learned_only)
    both_tails = _binomial_tail(fewer, fewer + more) + _binomial_tail(fewer - 1, fewer + more)
    return np.where(fewer == more, 1.0, both_tails)


def mcnemar_one_sided_mid_p(oracle_only: object, learned_only: object) -> np.ndarray:
    """One-sided mid-p: how likely a fair coin gives the oracle at least as many of the discordant pairs."""
    one, other = finite_numbers(oracle_only, "discordant counts"), finite_numbers(learned_only, "discordant counts")
    total = one + other
    return (_binomial_tail(other, total) + _binomial_tail(other - 1, total)) / 2


def _binomial_tail(heads: np.ndarray, tosses: np.ndarray) -> np.ndarray:
    """Probability of at most `heads` heads of a fair coin, by the incomplete beta function: counts stay floats."""
    from scipy.special import betainc  # imported late: it takes a quarter of a second

    inside = betainc(np.maximum(tosses - heads, 0.5), np.maximum(heads, 0) + 1, 0.5)
    return np.where(heads < 0, 0.0, np.where(heads >= tosses, 1.0, inside))


def _ordered_counts(oracle_only: object, learned_only: object) -> tuple[np.ndarray, np.ndarray]:
    """The smaller and the larger count of discordant pairs."""
    one, other = finite_numbers(oracle_only, "discordant counts"), finite_numbers(learned_only, "discordant counts")
    if (one < 0).any() or (other < 0).any():
        raise BadInput(f"discordant counts must not be negative, got {oracle_only!r} and {learned_only!r}")
    return np.minimum(one, other), np.maximum(one, other)


def holm(p_values: object) -> np.ndarray:
    """P-values [m] adjusted for m tests, in the order given.

    If those at most alpha are rejected, the probability of any false rejection is at most alpha.
    """
    values = finite_numbers(p_values, "p-values")
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise BadInput(f"p-values must be a list of numbers within [0, 1], got {p_values!r}")
    order = np.argsort(values, kind="stable")
    steps = np.arange(len(values), 0, -1)
    adjusted = np.minimum(np.maximum.accumulate(steps * values[order]), 1.0)
    result = np.empty_like(adjusted)
    result[order] = adjusted
    return result
