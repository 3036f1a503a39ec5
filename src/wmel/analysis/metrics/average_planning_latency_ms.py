"""Planning latency: how long does a single decision take?"""

from itertools import chain

import numpy as np

from wmel.schema import EpisodeTable
from wmel.stats.estimate import Estimate
from wmel.stats.mean import mean_normal


def average_planning_latency_ms(table: EpisodeTable) -> Estimate:
    """Mean time of one decision at batch 1, with the documents' normal interval."""
    times = decision_times_ms(table)
    return mean_normal(times) if times.size else Estimate.undefined("no decision was timed")


def decision_times_ms(table: EpisodeTable) -> np.ndarray:
    """All timed decisions of a table [n]."""
    return np.array(list(chain.from_iterable(table["planning_latencies_ms"])), dtype=float)
