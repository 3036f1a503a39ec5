"""Outcomes of two arms on the same seeds, counted."""

from dataclasses import dataclass

import numpy as np

from wmel.errors import BadInput
from wmel.stats.finite import finite_numbers


@dataclass(frozen=True, eq=False)
class PairedCounts:
    """How many pairs both arms solve, only one of them, or neither; numbers or arrays of one shape."""

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
        """Correlation within a pair; 0 where an arm always does the same."""
        oracle, learned = self.both + self.oracle_only, self.both + self.learned_only
        spread = np.sqrt(oracle * (self.n - oracle) * learned * (self.n - learned))
        shared = self.both * self.neither - self.oracle_only * self.learned_only
        return np.where(spread > 0, np.clip(shared / np.where(spread > 0, spread, 1), -1, 1), 0.0)
