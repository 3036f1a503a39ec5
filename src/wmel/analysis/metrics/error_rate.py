"""Errors: how many episodes broke instead of ending?"""

from wmel.schema import EpisodeTable
from wmel.stats.estimate import Estimate
from wmel.stats.wilson import wilson


def error_rate(table: EpisodeTable) -> Estimate:
    """Share of episodes that ended in an error; each also counts as a failure in the success rate."""
    if len(table) == 0:
        return Estimate.undefined("no episodes")
    return wilson(int((table["error"] != "").sum()), len(table))
