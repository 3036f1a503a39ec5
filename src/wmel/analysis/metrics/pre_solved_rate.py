"""Pre-solved starts: how many episodes would succeed by doing nothing?"""

from wmel.analysis.metrics.judged import needs_criterion
from wmel.schema import EpisodeTable
from wmel.stats.estimate import Estimate
from wmel.stats.wilson import wilson


@needs_criterion
def pre_solved_rate(table: EpisodeTable) -> Estimate:
    """Share of start states in which the criterion already holds."""
    if len(table) == 0:
        return Estimate.undefined("no episodes")
    return wilson(int(table["pre_solved"].sum()), len(table))
