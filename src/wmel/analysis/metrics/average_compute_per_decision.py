"""Compute per decision: how much model work does one executed action take?"""

import numpy as np

from wmel.schema import EpisodeTable
from wmel.stats.estimate import Estimate


def average_compute_per_decision(table: EpisodeTable) -> Estimate:
    """The documents' formula: declared compute per plan call x plan calls / executed steps, over all episodes.

    A plan cut short by the end of the episode is charged in full; the counted model steps are a column of their own.
    """
    if np.isnan(table["declared_compute"]).any():
        return Estimate.undefined("the policy declares no compute per plan call")
    steps = int(table["steps"].sum())
    if steps == 0:
        return Estimate.undefined("no step was executed")
    return Estimate(float(table["declared_compute"].sum()) / steps, n=steps, method="ratio")
