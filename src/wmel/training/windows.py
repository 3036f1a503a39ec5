"""Windows: runs of consecutive transitions of one episode."""

import numpy as np


def windows_of(episodes: np.ndarray, longest: int) -> np.ndarray:
    """Which transitions [W,K] each window holds, of the episode of each transition [T] in the order they happened.

    Every complete window of `longest` steps, overlapping; of the longest episode's steps where that is shorter.
    """
    _, steps = np.unique(episodes, return_counts=True)
    length = min(longest, int(steps.max()))
    starts = np.flatnonzero(episodes[: len(episodes) - length + 1] == episodes[length - 1 :])
    return starts[:, None] + np.arange(length)
