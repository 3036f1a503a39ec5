"""The mean of a sample with the documents' normal interval."""

import numpy as np

from wmel.stats.estimate import Estimate
from wmel.stats.finite import finite_numbers
from wmel.stats.normal import Z95


def mean_normal(values: np.ndarray) -> Estimate:
    """Mean of values [n] +- 1.96 population standard deviations of it."""
    values = finite_numbers(values, "the values of a mean")
    if values.size == 0:
        return Estimate.undefined("no values")
    centre = float(values.mean())
    if values.size == 1:
        return Estimate(centre, n=1, method="normal; one value has no interval")
    half = Z95 * float(values.std()) / values.size**0.5
    return Estimate(centre, centre - half, centre + half, values.size, "normal")
