"""Bootstrap interval of a ratio of sums over clusters: of means, pooled ratios, and differences of either."""

import math
from typing import Literal

import numpy as np
from scipy.special import ndtr, stdtrit

from wmel.errors import BadInput, require_share
from wmel.stats.estimate import Estimate

RESAMPLES = 4000
MIN_CLUSTERS = 3  # two clusters can differ in one way only
MAX_EXPONENT = 200.0  # a bound beyond exp(200) times the value says nothing more
Scale = Literal["plain", "log", "bounded"]
NUMBERS_PER_CHUNK = 1 << 22
SEED = 20_240_229  # fixed, so that the same data always have the same interval


def cluster_bootstrap(
    numerators: np.ndarray,
    denominators: np.ndarray,
    clusters: np.ndarray,
    *,
    confidence: float = 0.95,
    scale: Scale = "plain",
) -> Estimate:
    """sum(numerators [n]) / sum(denominators [n]) with an interval; whole clusters [n] are resampled.

    The interval is studentised (Efron and Tibshirani 1993, chapter 12). Plain percentiles cover too little where a few
    clusters are far above the rest, as signal-to-noise ratios are. `log` works on the logarithm, so that a positive
    quantity has positive bounds; it falls back to `plain` if a resampled ratio is not positive. `bounded`, for numbers
    such as cosines, uses percentiles, widened for few clusters as Student's t is (Hesterberg 2015).
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
        return Estimate.undefined("the sum to divide by is not positive")
    above, below = (np.bincount(place, array, count) for array in (numerators, denominators))
    value = float(above.sum() / total)
    if count < MIN_CLUSTERS:
        return Estimate(value, n=count, method=f"fewer than {MIN_CLUSTERS} clusters have no interval")
    sums, tops, squares, products, weights = _resampled_sums(
        np.stack([below, above, above**2, above * below, below**2])
    )
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
        low, high = (float(value * np.exp(min(-end * error / value, MAX_EXPONENT))) for end in (far, near))
        return Estimate(value, low, high, count, f"bootstrap-t of the logarithm over {count} clusters")
    far, near = np.quantile((values - value) / errors, [1 - tail, tail])
    low, high = float(value - far * error), float(value - near * error)
    return Estimate(value, low, high, count, f"bootstrap-t over {count} clusters")


def _resampled_sums(numbers: np.ndarray) -> np.ndarray:
    """Sums [k,R] of numbers [k,clusters] over clusters sampled with replacement; samples of no weight are left out."""
    count, generator = numbers.shape[1], np.random.default_rng(SEED)
    size = max(1, NUMBERS_PER_CHUNK // count)
    parts = [
        numbers @ generator.multinomial(count, np.full(count, 1 / count), min(size, RESAMPLES - start)).T
        for start in range(0, RESAMPLES, size)
    ]
    sums = np.concatenate(parts, axis=1)
    return sums[:, sums[0] > 0]
