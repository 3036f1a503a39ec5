"""A metric reads a table of episodes and answers with one estimate."""

from typing import Protocol

from wmel.schema import EpisodeTable
from wmel.stats.estimate import Estimate


class Metric(Protocol):
    def __call__(self, table: EpisodeTable) -> Estimate: ...
