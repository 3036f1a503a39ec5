"""Action success rate: how often did the agent reach the goal?"""

from wmel.analysis.metrics.judged import needs_criterion
from wmel.schema import EpisodeTable
from wmel.stats.estimate import Estimate
from wmel.stats.wilson import wilson


@needs_criterion
def success_rate(table: EpisodeTable) -> Estimate:
    """Share of episodes that succeed; one that broke counts as a failure."""
    if len(table) == 0:
        return Estimate.undefined("no episodes")
    return wilson(int(table["success"].sum()), len(table))
