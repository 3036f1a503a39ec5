"""deadline@MS: how often is a decision made in time?"""

from wmel.analysis.metrics.average_planning_latency_ms import decision_times_ms
from wmel.contract.metric import Metric
from wmel.errors import require
from wmel.schema import EpisodeTable
from wmel.stats.estimate import Estimate
from wmel.stats.wilson import wilson


def deadline_at(milliseconds: float) -> Metric:
    """The metric for one deadline."""
    require(0 < milliseconds < float("inf"), "a deadline must be a positive number of milliseconds", milliseconds)

    def met(table: EpisodeTable) -> Estimate:
        """Share of the timed decisions that take no longer than the deadline."""
        times = decision_times_ms(table)
        if not times.size:
            return Estimate.undefined("no decision was timed")
        return wilson(int((times <= milliseconds).sum()), times.size)

    return met
