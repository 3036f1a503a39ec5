"""Metrics of success need a criterion to judge by."""

from functools import wraps

from wmel.contract.metric import Metric
from wmel.schema import EpisodeTable
from wmel.stats.estimate import Estimate


def needs_criterion(metric: Metric) -> Metric:
    """The metric, undefined where episodes ran without a criterion of success."""

    @wraps(metric)
    def judged(table: EpisodeTable) -> Estimate:
        if len(table) and not table["judged"].all():
            return Estimate.undefined("no criterion given")
        return metric(table)

    return judged
