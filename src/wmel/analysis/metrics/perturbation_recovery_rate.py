"""Perturbation recovery: of the episodes that were struck, how many still succeed?"""

from wmel.analysis.metrics.judged import needs_criterion
from wmel.schema import EpisodeTable
from wmel.stats.estimate import Estimate
from wmel.stats.wilson import wilson


@needs_criterion
def perturbation_recovery_rate(table: EpisodeTable) -> Estimate:
    """Share of struck episodes that succeed; one that ended before its perturbation does not count."""
    struck = table.where(perturbed=True)
    if len(struck) == 0:
        return Estimate.undefined("no episode was perturbed")
    return wilson(int(struck["success"].sum()), len(struck))
