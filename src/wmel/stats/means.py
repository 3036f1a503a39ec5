"""Means of differences of pairs, and ratios of sums with intervals over clusters."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from wmel.errors import BadInput, require_share
from wmel.stats.estimate import Estimate, finite_numbers, t_quantile

RESAMPLES = 4000
SEED = 20_240_229  # fixed, so that the same data always have the same interval
MIN_CLUSTERS = 10  # fewer cover less than .90 (docs/calibration.md)
MAX_EXPONENT = 200.0  # a bound beyond exp(200) times the value says nothing more
Scale = Literal["plain", "log", "bounded"]
NUMBERS_PER_CHUNK = 1 << 22


def paired_t(oracle: object, learned: object, *, confidence: float = 0.95) -> Estimate:
    """Mean of oracle - learned over pairs [n]; both lists are in the same order of episode seeds."""
    one, other = _to_returns(oracle), _to_returns(learned)
    if len(one) != len(other):
        raise BadInput(f"paired returns need as many values each, got {len(one)} and {len(other)}")
    gaps = one - other
    error = gaps.std(ddof=1) / math.sqrt(len(gaps))
    return _t_interval(float(gaps.mean()), float(error), len(gaps) - 1, confidence, len(gaps), "paired t")


def _t_interval(gap: float, error: float, degrees: float, confidence: float, n: int, method: str) -> Estimate:
    half = t_quantile(degrees, confidence) * error
    return Estimate(gap, gap - half, gap + half, n, method)


def _to_returns(values: object) -> np.ndarray:
    array = finite_numbers(values, "returns (they exist only under stop = horizon)")
    if array.ndim != 1 or array.size < 2:
        raise BadInput(f"a difference of means needs at least two values per arm, got {array.size}")
    return array


def check_equal_shares(oracle: Sequence[int], learned: Sequence[int]) -> None:
    """Raises BadInput if a stratum has another share of the episodes in one arm: a pooled gap would mix them."""
    one, other = (finite_numbers(counts, "episodes per stratum") for counts in (oracle, learned))
    if one.ndim != 1 or one.shape != other.shape or one.size == 0:
        raise BadInput(f"both arms need the same strata, got {one.size} and {other.size}")
    if (one < 1).any() or (other < 1).any():
        raise BadInput(f"every stratum needs at least one episode in each arm, got {list(oracle)} v {list(learned)}")
    if not np.allclose(one / one.sum(), other / other.sum(), rtol=1e-9):
        raise BadInput(
            f"strata have unequal shares in the two arms ({list(oracle)} v {list(learned)} episodes): "
            "run equal shares, or compare stratum by stratum"
        )


def weighted_mean(estimates: Sequence[Estimate], weights: np.ndarray, method: str) -> Estimate:
    """Mean of independent estimates with weights [K], which add up to 1.

    Its interval combines theirs by the squares of their weighted distances from them (Zou and Donner 2008, Statistics
    in Medicine 27).
    """
    fields = ("value", "low", "high")
    value, low, high = (np.array([getattr(one, name) for one in estimates], float) for name in fields)
    centre = float(weights @ value)
    below, above = (float(np.linalg.norm(weights * distance)) for distance in (value - low, high - value))
    return Estimate(centre, centre - below, centre + above, sum(one.n for one in estimates), method)


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
        wider = _widened_tail(count, tail)
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


def _widened_tail(count: int, tail: float) -> float:
    """The tail of percentiles over so few clusters that corresponds to Student's t (Hesterberg 2015)."""
    from scipy.special import ndtr, stdtrit  # imported late: it takes a quarter of a second

    return float(ndtr(math.sqrt(count / (count - 1)) * stdtrit(count - 1, tail)))
