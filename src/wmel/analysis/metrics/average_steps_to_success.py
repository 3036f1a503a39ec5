"""Average steps to success: how long do the successful episodes take?"""

from wmel.analysis.metrics.judged import needs_criterion
from wmel.schema import EpisodeTable
from wmel.stats.estimate import Estimate
from wmel.stats.mean import mean_normal


@needs_criterion
def average_steps_to_success(table: EpisodeTable) -> Estimate:
    """Mean step at which success was reached, over the episodes that reached it."""
    reached = table.where(success=True)
    if len(reached) == 0:
        return Estimate.undefined("no episode succeeded")
    return mean_normal(reached["first_success_step"])
