"""Perturbation recovery compared: how much of the success of the same seeds, left alone, survives?"""

import numpy as np

from wmel.analysis.metrics.judged import needs_criterion
from wmel.schema import EpisodeTable
from wmel.stats.estimate import Estimate


@needs_criterion
def perturbation_recovery_ratio(table: EpisodeTable) -> Estimate:
    """Success of the struck episodes over that of the same seeds without the perturbation."""
    struck = table.where(perturbed=True)
    if len(struck) == 0:
        return Estimate.undefined("no episode was perturbed")
    if np.isnan(struck["unperturbed_success"]).any():
        return Estimate.undefined("the struck seeds were not run without the perturbation")
    alone = float(struck["unperturbed_success"].mean())
    if alone == 0:
        return Estimate.undefined("none of the struck seeds succeeds without the perturbation either")
    return Estimate(float(struck["success"].mean()) / alone, n=len(struck), method="ratio on the same seeds")
