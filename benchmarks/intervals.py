"""A million Agresti-Caffo intervals beside the arithmetic they cannot do without."""

import sys

import numpy as np

from side_by_side import compare, verdict
from wmel.arrays import keep_freed_memory
from wmel.stats.proportions import agresti_caffo

COUNT, TRIALS = 1_000_000, 150
RNG = np.random.default_rng(0)
S_O, S_L = RNG.integers(0, TRIALS + 1, (2, COUNT)).astype(float)


def bare() -> tuple[np.ndarray, np.ndarray]:
    """The formula and nothing else."""
    n = TRIALS + 2
    p_o, p_l = (S_O + 1) / n, (S_L + 1) / n
    half = 1.96 * np.sqrt(p_o * (1 - p_o) / n + p_l * (1 - p_l) / n)
    return p_o - p_l - half, p_o - p_l + half


def main() -> int:
    keep_freed_memory()
    result = compare(lambda: agresti_caffo(S_O, TRIALS, S_L, TRIALS), bare)
    return 0 if verdict("a million Agresti-Caffo intervals over the bare arithmetic", result.ratio, at_most=3) else 1


if __name__ == "__main__":
    sys.exit(main())
