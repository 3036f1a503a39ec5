"""success@K: how often is the goal reached within K steps?"""

from wmel.analysis.metrics.judged import needs_criterion
from wmel.contract.metric import Metric
from wmel.errors import require
from wmel.schema import EpisodeTable
from wmel.stats.estimate import Estimate
from wmel.stats.wilson import wilson


def success_at(steps: float) -> Metric:
    """The metric for one number of steps."""
    require(0 < steps < 2**53 and steps == int(steps), "success@K needs a positive whole number of steps", steps)

    @needs_criterion
    def within(table: EpisodeTable) -> Estimate:
        """Share of episodes that succeed at step K or before."""
        if len(table) == 0:
            return Estimate.undefined("no episodes")
        first = table["first_success_step"]
        return wilson(int((table["success"] & (first > 0) & (first <= steps)).sum()), len(table))

    return within
