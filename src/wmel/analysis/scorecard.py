"""The scorecard: what a deployment asks of a policy, one estimate per metric of the catalogue."""

from collections.abc import Mapping
from dataclasses import dataclass

from wmel.catalog import METRICS
from wmel.episodes import EpisodeTable
from wmel.stats.estimate import Estimate


@dataclass(frozen=True)
class Scorecard:
    """Every metric's estimate; the undefined ones say why."""

    policy_name: str
    episodes: int
    estimates: Mapping[str, Estimate]

    def __getitem__(self, metric: str) -> Estimate:
        return self.estimates[metric]


def scorecard(policy_name: str, table: EpisodeTable) -> Scorecard:
    """Every metric of the catalogue on one table."""
    return Scorecard(policy_name, len(table), {name: METRICS.load(name)(table) for name in METRICS.parts})
