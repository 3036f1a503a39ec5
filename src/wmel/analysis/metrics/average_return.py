"""Average return: how much reward does an episode bring?"""

import numpy as np

from wmel.schema import EpisodeTable
from wmel.stats.estimate import Estimate
from wmel.stats.mean import mean_normal


def average_return(table: EpisodeTable) -> Estimate:
    """Mean sum of rewards over whole episodes; one that broke has none."""
    returns = table["return"][~np.isnan(table["return"])]
    if len(returns) == 0:
        return Estimate.undefined("no whole episode has a return: no reward, or episodes stop at success")
    return mean_normal(returns)
