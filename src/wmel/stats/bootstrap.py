"""The bootstrap of a ratio of sums over clusters: means, pooled ratios and differences of either."""

import math
from typing import Literal

import numpy as np
from scipy.special import ndtr, stdtrit

from wmel.errors import BadInput, require_share
from wmel.stats.estimate import Estimate

RESAMPLES = 4000
FEWEST = 3  # clusters: two have one way to differ
LARGEST = 200.0  # of an exponent: past that a bound says nothing more
Scale = Literal["plain", "log", "bounded"]
AT_ONCE = 1 << 22  # numbers drawn
SEED = 20_240_229  # any: an interval is the same whenever it is worked out


def cluster_bootstrap(
    numerators: np.ndarray,
    denominators: np.ndarray,
    clusters: np.ndarray,
    *,
    confidence: float = 0.95,
    scale: Scale = "plain",
) -> Estimate:
    """sum(numerators [n]) / sum(denominators [n]) with whole clusters [n] drawn again.

    Studentised (Efron and Tibshirani 1993, chapter 12): plain percentiles cover too little where a few clusters are far
    above the rest, as signal-to-noise ratios are. `log` works on the logarithm, so that what cannot be negative has no
    negative bound, unless the draws are not all positive. `bounded`, for numbers such as cosines: percentiles, spread
    to make up for few clusters as Student's t does (Hesterberg 2015).
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
    if count < FEWEST:
        return Estimate(value, n=count, method=f"fewer than {FEWEST} clusters have no interval")
    sums, tops, squares, products, weights = _drawn(np.stack([below, above, above**2, above * below, below**2]))
    values = tops / sums
    tail = (1 - confidence) / 2
    if scale == "bounded":
        wider = float(ndtr(math.sqrt(count / (count - 1)) * stdtrit(count - 1, tail)))
        low, high = np.quantile(values, [wider, 1 - wider])
        return Estimate(value, float(low), float(high), count, f"bootstrap over {count} clusters")
    residuals = squares - 2 * values * products + values**2 * weights
    errors, error = np.sqrt(np.maximum(residuals, 0)) / sums, np.sqrt(((above - value * below) ** 2).sum()) / total
    spread = errors > 1e-9 * error
    if error <= 1e-12 * abs(value) or not spread.any():
        return Estimate(value, value, value, count, f"all {count} clusters are alike")
    values, errors = values[spread], errors[spread]
    if scale == "log" and value > 0 and (values > 0).all():
        far, near = np.quantile((np.log(values) - np.log(value)) / (errors / values), [1 - tail, tail])
        low, high = (float(value * np.exp(min(-end * error / value, LARGEST))) for end in (far, near))
        return Estimate(value, low, high, count, f"bootstrap-t of the logarithm over {count} clusters")
    far, near = np.quantile((values - value) / errors, [1 - tail, tail])
    low, high = float(value - far * error), float(value - near * error)
    return Estimate(value, low, high, count, f"bootstrap-t over {count} clusters")


def _drawn(numbers: np.ndarray) -> np.ndarray:
    """Sums [k,R] of numbers [k,clusters] over clusters drawn with replacement; draws without weight are left out."""
    count, generator = numbers.shape[1], np.random.default_rng(SEED)
    size = max(1, AT_ONCE // count)
    parts = [
        numbers @ generator.multinomial(count, np.full(count, 1 / count), min(size, RESAMPLES - start)).T
        for start in range(0, RESAMPLES, size)
    ]
    sums = np.concatenate(parts, axis=1)
    return sums[:, sums[0] > 0]
