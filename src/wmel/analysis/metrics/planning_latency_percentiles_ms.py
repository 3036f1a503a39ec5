"""Planning latency in the tail: how long do the slow decisions take?"""

from wmel.analysis.metrics.average_planning_latency_ms import decision_times_ms
from wmel.schema import EpisodeTable
from wmel.stats.estimate import Estimate
from wmel.stats.quantile import percentile


def p50(table: EpisodeTable) -> Estimate:
    """Half of the decisions at batch 1 take no longer."""
    return percentile(decision_times_ms(table), 50)


def p95(table: EpisodeTable) -> Estimate:
    """All but one in twenty decisions at batch 1 take no longer."""
    return percentile(decision_times_ms(table), 95)


def p99(table: EpisodeTable) -> Estimate:
    """All but one in a hundred decisions at batch 1 take no longer."""
    return percentile(decision_times_ms(table), 99)
