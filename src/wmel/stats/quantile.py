"""A percentile of a sample, refused where the sample is too small to hold it."""

import numpy as np

from wmel.stats.estimate import Estimate


def percentile(values: np.ndarray, percent: float) -> Estimate:
    """The given percentile of values [n]; undefined where it could only be the maximum."""
    values = np.asarray(values, dtype=float)
    needed = round(100 / (100 - percent))
    if values.size < needed:
        return Estimate.undefined(
            f"the {percent:g}th percentile needs {needed} values, there are {values.size}", values.size
        )
    return Estimate(float(np.percentile(values, percent)), n=values.size, method=f"p{percent:g}")
