"""The bootstrap of a ratio of sums over clusters: means, pooled ratios and differences of either."""

import numpy as np

from wmel.errors import BadInput, require_share
from wmel.stats.estimate import Estimate

RESAMPLES = 4000
SEED = 20_240_229  # any: an interval is the same whenever it is worked out


def cluster_bootstrap(
    numerators: np.ndarray, denominators: np.ndarray, clusters: np.ndarray, *, confidence: float = 0.95
) -> Estimate:
    """sum(numerators [n]) / sum(denominators [n]) with whole clusters [n] drawn again, each draw in its own deviations.

    Studentised (Efron and Tibshirani 1993, chapter 12): plain percentiles cover too little where a few clusters are far
    above the rest, as signal-to-noise ratios are.
    """
    require_share(confidence, "confidence")
    numerators, denominators = np.asarray(numerators, float), np.asarray(denominators, float)
    if numerators.ndim != 1 or not len(numerators) == len(denominators) == len(clusters):
        raise BadInput(f"a bootstrap needs three lists of one length, got {np.shape(numerators)}, {np.shape(clusters)}")
    if not (np.isfinite(numerators).all() and np.isfinite(denominators).all()):
        return Estimate.undefined("not every number is finite")
    names, place = np.unique(clusters, return_inverse=True)
    count, total = len(names), denominators.sum()
    if total <= 0:
        return Estimate.undefined("nothing to divide by")
    above, below = (np.bincount(place, array, count) for array in (numerators, denominators))
    value = float(above.sum() / total)
    if count < 2:
        return Estimate(value, n=count, method="one cluster has no interval")
    drawn = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), RESAMPLES)
    sums = drawn @ below
    drawn, sums = drawn[sums > 0], sums[sums > 0]
    values = drawn @ above / sums
    squares = drawn @ above**2 - 2 * values * (drawn @ (above * below)) + values**2 * (drawn @ below**2)
    errors, error = np.sqrt(np.maximum(squares, 0)) / sums, np.sqrt(((above - value * below) ** 2).sum()) / total
    spread = errors > 1e-9 * error
    if error <= 1e-12 * abs(value) or not spread.any():
        return Estimate(value, value, value, count, f"all {count} clusters are alike")
    tail = (1 - confidence) / 2
    low, high = np.quantile((values - value)[spread] / errors[spread], [1 - tail, tail])
    return Estimate(
        value, float(value - low * error), float(value - high * error), count, f"bootstrap-t over {count} clusters"
    )
