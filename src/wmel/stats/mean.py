"""The mean of a sample with the documents' normal interval."""

import numpy as np

from wmel.errors import BadInput
from wmel.stats.estimate import Estimate
from wmel.stats.normal import Z95


def mean_normal(values: np.ndarray) -> Estimate:
    """Mean of values [n] +- 1.96 population standard deviations of it."""
    values = np.asarray(values, dtype=float)
    if values.size == 0:
        return Estimate.undefined("no values")
    if not np.isfinite(values).all():
        raise BadInput("a mean needs finite values; got NaN or infinity among them")
    centre = float(values.mean())
    if values.size == 1:
        return Estimate(centre, n=1, method="normal; one value has no interval")
    half = Z95 * float(values.std()) / values.size**0.5
    return Estimate(centre, centre - half, centre + half, values.size, "normal")
