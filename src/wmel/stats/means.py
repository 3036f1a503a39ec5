"""Means of differences of pairs, and ratios of sums with intervals over clusters."""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from wmel.errors import BadInput, require_share
from wmel.stats.estimate import MIN_VALUES, Estimate, finite_numbers, t_quantile

RESAMPLES = 4000
SEED = 20_240_229  # fixed, so that the same data always have the same interval
MIN_CLUSTERS = 10  # fewer cover less than .90 (docs/calibration.md)
DOMINANT = 0.6  # share of the sum of absolute values beyond which one cluster alone decides the mean
MAX_EXPONENT = 200.0  # a bound beyond exp(200) times the value says nothing more
Scale = Literal["plain", "log", "bounded"]
NUMBERS_PER_CHUNK = 1 << 22
FEW = 64  # clusters, whose samples are kept: the same for every interval


def paired_t(oracle: object, learned: object, *, confidence: float = 0.95) -> Estimate:
    """Mean of oracle - learned over pairs [n]; both lists are in the same order of episode seeds.

    There is no interval for fewer than five pairs, nor where all differences are equal.
    """
    require_share(confidence, "confidence")
    one, other = _to_returns(oracle), _to_returns(learned)
    if len(one) != len(other):
        raise BadInput(f"paired returns need as many values each, got {len(one)} and {len(other)}")
    gaps = one - other
    gap, count = float(gaps.mean()), len(gaps)
    if count < MIN_VALUES:
        return Estimate(gap, n=count, method=f"fewer than {MIN_VALUES} pairs have no interval")
    if np.ptp(gaps) == 0:
        return Estimate(gap, n=count, method="all differences are equal, which shows no spread")
    half = t_quantile(count - 1, confidence) * float(gaps.std(ddof=1)) / math.sqrt(count)
    return Estimate(gap, gap - half, gap + half, count, "paired t")


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


def skewed_mean(values: np.ndarray, clusters: np.ndarray, *, confidence: float = 0.95) -> Estimate:
    """Mean of values [n] of which a few lie far above the rest, with an interval over clusters [n].

    The interval is Student's after the cubic transformation that removes skewness (Hall 1992, Journal of the Royal
    Statistical Society B 54). It stays within a few standard errors of the mean, however skewed the values are.
    There is none where there are too few clusters, or where one of them alone decides the mean; `reason` says which.
    """
    require_share(confidence, "confidence")
    values = np.asarray(values, float)
    if values.ndim != 1 or len(values) != len(clusters):
        raise BadInput(f"a mean needs a cluster for each value, got {np.shape(values)}, {np.shape(clusters)}")
    if not np.isfinite(values).all():
        return Estimate.undefined("not every number is finite")
    if not len(values):
        return Estimate.undefined("no values")
    names, place = np.unique(clusters, return_inverse=True)
    centre, count = float(values.mean()), len(names)
    if count < MIN_CLUSTERS:
        reason = f"an interval needs {MIN_CLUSTERS} clusters, there are {count}"
        return Estimate(centre, n=count, method="no interval", reason=reason)
    rest = np.bincount(place, values - centre, count)
    squares = float(rest @ rest)
    error = math.sqrt(count / (count - 1) * squares) / len(values)
    if error <= 1e-12 * abs(centre):
        return Estimate(centre, centre, centre, count, f"all {count} clusters are alike")
    share = largest_share(values, clusters)
    if share > DOMINANT:
        reason = (
            f"one of {count} clusters makes up {share:.0%} of the sum, and an interval needs {DOMINANT:.0%} or less"
        )
        return Estimate(centre, n=count, method="no interval", reason=reason)
    skew = float((rest**3).sum()) * math.sqrt(count) / squares**1.5
    bend, shift, half = skew / math.sqrt(count) / 3, skew / math.sqrt(count) / 6, t_quantile(count - 1, confidence)
    low, high = (centre - error * _undo_transformation(end, bend, shift) for end in (half, -half))
    return Estimate(centre, low, high, count, f"t after Hall's transformation over {count} clusters")


def skewed_ratio(numerators: np.ndarray, denominators: np.ndarray, clusters: np.ndarray) -> Estimate:
    """sum(numerators [n]) / sum(denominators [n]), both skewed; its 95% interval is the wider at each end of two.

    They are the bootstrap-t of the logarithm, and that of `skewed_mean` over the jackknife's pseudo-values.
    """
    found = cluster_bootstrap(numerators, denominators, clusters, scale="log")
    if found.value is None or found.low is None or found.high is None or found.low == found.high:
        return found
    place = np.unique(clusters, return_inverse=True)[1]
    above, below = (np.bincount(place, array) for array in (numerators, denominators))
    left_out = (above.sum() - above) / (below.sum() - below)
    other = skewed_mean(found.n * found.value - (found.n - 1) * left_out, np.arange(found.n))
    if other.low is None or other.high is None:
        return found
    low, high = min(found.low, other.low), max(found.high, other.high)
    return Estimate(found.value, max(low, 0.0) if found.low > 0 else low, high, found.n, f"{found.method}, jackknife")


def largest_share(values: np.ndarray, clusters: np.ndarray) -> float:
    """The share that the largest cluster has of the sum over clusters [n] of values [n], without their signs."""
    sizes = abs(np.bincount(np.unique(clusters, return_inverse=True)[1], values))
    return float(sizes.max() / sizes.sum()) if sizes.any() else 0.0


def _undo_transformation(value: float, bend: float, shift: float) -> float:
    """The studentised mean that Hall's transformation takes to this value."""
    return value if abs(bend) < 1e-9 else (float(np.cbrt(1 + 3 * bend * (value - shift))) - 1) / bend


def _resampled_sums(numbers: np.ndarray) -> np.ndarray:
    """Sums [k,R] of numbers [k,clusters] over clusters sampled with replacement; samples of no weight are left out."""
    count = numbers.shape[1]
    weights = _weights_of_few(count) if count <= FEW else _weights(count)
    sums = np.concatenate([numbers @ one.T for one in weights], axis=1)
    return sums[:, sums[0] > 0]


@lru_cache(4)
def _weights_of_few(count: int) -> list[np.ndarray]:
    return list(_weights(count))


def _weights(count: int) -> Iterator[np.ndarray]:
    """How often each cluster is sampled, in chunks [r,clusters]."""
    generator, size = np.random.default_rng(SEED), max(1, NUMBERS_PER_CHUNK // count)
    for start in range(0, RESAMPLES, size):
        yield generator.multinomial(count, np.full(count, 1 / count), min(size, RESAMPLES - start))


def _widened_tail(count: int, tail: float) -> float:
    """The tail of percentiles over so few clusters that corresponds to Student's t (Hesterberg 2015)."""
    from scipy.special import ndtr, stdtrit  # imported late: it takes a quarter of a second

    return float(ndtr(math.sqrt(count / (count - 1)) * stdtrit(count - 1, tail)))
