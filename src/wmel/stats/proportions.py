"""Intervals of success rates, of differences of two rates, and of the gap of a recipe from several trainings."""

from collections.abc import Sequence

import numpy as np

from wmel.errors import BadInput, require_share
from wmel.stats.estimate import Z95, Bounds, Estimate, check_counts, finite_numbers, two_sided_z, wilson_bounds
from wmel.stats.numerics import invert_score, log_factorials

MIN_TRAININGS = 3  # two leave every gap within .84 of the observed one possible
HALVINGS = 50  # of the search for a quantile


def clopper_pearson(successes: object, trials: object, *, confidence: float = 0.95) -> Bounds:
    """Exact two-sided bounds, whose coverage is never below `confidence`; at 90% each is a one-sided 95% bound."""
    counts, totals = check_counts(successes, trials)
    require_share(confidence, "confidence")
    tail = (1 - confidence) / 2
    from scipy.special import betaincinv  # imported late: it takes a quarter of a second

    low = np.where(counts == 0, 0.0, betaincinv(np.maximum(counts, 0.5), totals - counts + 1, tail))
    high = np.where(counts == totals, 1.0, betaincinv(counts + 1, np.maximum(totals - counts, 0.5), 1 - tail))
    return Bounds(low, high)


def agresti_caffo(s_o: object, n_o: object, s_l: object, n_l: object, *, z: float = Z95) -> Bounds:
    """Bounds of p_o - p_l with one success and one failure added to each arm; they may leave [-1, 1]."""
    first, first_total = check_counts(s_o, n_o)
    second, second_total = check_counts(s_l, n_l)
    p_o, p_l = (first + 1) / (first_total + 2), (second + 1) / (second_total + 2)
    half = z * np.sqrt(p_o * (1 - p_o) / (first_total + 2) + p_l * (1 - p_l) / (second_total + 2))
    return Bounds(p_o - p_l - half, p_o - p_l + half)


def miettinen_nurminen(s_o: object, n_o: object, s_l: object, n_l: object, *, confidence: float = 0.95) -> Bounds:
    """Bounds of p_o - p_l: the differences that a score test does not reject, always inside [-1, 1]."""
    one, one_total, other, other_total = np.broadcast_arrays(*check_counts(s_o, n_o), *check_counts(s_l, n_l))
    gap = one / one_total - other / other_total
    return invert_score(
        lambda difference: score(one, one_total, other, other_total, difference), gap, two_sided_z(confidence)
    )


def score(s_o: np.ndarray, n_o: np.ndarray, s_l: np.ndarray, n_l: np.ndarray, difference: object) -> np.ndarray:
    """Standardised distance of the observed gap from a hypothetical one; 0 where they agree."""
    difference = np.asarray(difference, float)
    p_l = _restricted_rate(s_o, n_o, s_l, n_l, difference)
    p_o = np.clip(p_l + difference, 0, 1)
    total = n_o + n_l
    variance = (p_o * (1 - p_o) / n_o + p_l * (1 - p_l) / n_l) * total / (total - 1)
    distance = s_o / n_o - s_l / n_l - difference
    with np.errstate(divide="ignore", invalid="ignore"):
        standardised = distance / np.sqrt(np.maximum(variance, 0))
    return np.where(np.abs(distance) < 1e-14, 0.0, standardised)


def _restricted_rate(
    s_o: np.ndarray, n_o: np.ndarray, s_l: np.ndarray, n_l: np.ndarray, difference: np.ndarray
) -> np.ndarray:
    """The most likely learned rate if the oracle's is `difference` above it: the root of a cubic, by cosine."""
    total = n_o + n_l
    if not difference.any():
        return (s_o + s_l) / total  # equal rates: the pooled share
    a = total
    b = (n_o + 2 * n_l) * difference - total - s_o - s_l
    c = (n_l * difference - total - 2 * s_l) * difference + s_o + s_l
    d = s_l * difference * (1 - difference)
    v = b**3 / (3 * a) ** 3 - b * c / (6 * a**2) + d / (2 * a)
    u = np.where(v < 0, -1.0, 1.0) * np.sqrt(np.maximum(b**2 / (3 * a) ** 2 - c / (3 * a), 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(u != 0, v / u**3, 0.0)
    angle = (np.pi + np.arccos(np.clip(ratio, -1, 1))) / 3
    root = 2 * u * np.cos(angle) - b / (3 * a)
    return np.clip(root, np.maximum(0, -difference), np.minimum(1, 1 - difference))


def fisher_mid_p(s_o: object, n_o: int, s_l: object, n_l: int) -> np.ndarray:
    """One-sided mid-p of Fisher's test: how likely the oracle has at least as many of all successes by chance.

    The observed number counts half.
    """
    one, other = np.broadcast_arrays(np.asarray(s_o, int), np.asarray(s_l, int))
    one, total = one[..., None], (one + other)[..., None]
    counts, logs = np.arange(n_o + 1), log_factorials(n_o + n_l)
    rest = total - counts
    possible = (rest >= 0) & (rest <= n_l)
    rest = np.where(possible, rest, 0)
    ways = logs[n_o] - logs[counts] - logs[n_o - counts] + logs[n_l] - logs[rest] - logs[n_l - rest]
    all_ways = logs[n_o + n_l] - logs[total] - logs[n_o + n_l - total]
    chances = np.exp(np.where(possible, ways - all_ways, -np.inf))
    return (chances * ((counts > one) + 0.5 * (counts == one))).sum(axis=-1)


def relative_loss(s_o: object, n_o: object, s_l: object, n_l: object, *, confidence: float = 0.95) -> Bounds:
    """Bounds of 1 - p_l / p_o from Wilson limits; the lower one is -inf where the oracle's rate may be 0."""
    first, first_total = check_counts(s_o, n_o)
    second, second_total = check_counts(s_l, n_l)
    p_o, p_l, z = first / first_total, second / second_total, two_sided_z(confidence)
    (low_o, high_o), (low_l, high_l) = wilson_bounds(first, first_total, z), wilson_bounds(second, second_total, z)
    product = p_o * p_l
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.sqrt(np.maximum(product**2 - low_l * high_o * (2 * p_l - low_l) * (2 * p_o - high_o), 0))
        outer = np.sqrt(np.maximum(product**2 - high_l * low_o * (2 * p_l - high_l) * (2 * p_o - low_o), 0))
        least = (product - inner) / (high_o * (2 * p_o - high_o))
        most = np.where(low_o > 0, (product + outer) / (low_o * (2 * p_o - low_o)), np.inf)
    return Bounds(1 - most, 1 - least)


def recipe_gap(
    oracle_successes: int, oracle_episodes: int, learned_rates: Sequence[float], *, confidence: float = 0.95
) -> Estimate:
    """The oracle's success rate minus the mean success rate of trainings, each of which has one rate.

    The interval of the trainings makes no assumption about how they differ. It is combined with the exact bounds of the
    oracle by the squares of the distances (Zou and Donner 2008, Statistics in Medicine 27), and lies inside [-1, 1].
    """
    rates = finite_numbers(learned_rates, "success rates of trainings")
    if rates.ndim != 1 or rates.size < 1 or rates.min() < 0 or rates.max() > 1:
        raise BadInput(f"success rates of trainings are numbers from 0 to 1, got {learned_rates!r}")
    value = oracle_successes / oracle_episodes - float(rates.mean())
    if rates.size < MIN_TRAININGS:
        reason = (
            f"how much trainings differ is not known from {rates.size} of them: at least {MIN_TRAININGS} are needed"
        )
        return Estimate.undefined(reason, rates.size)
    oracle = clopper_pearson(oracle_successes, oracle_episodes, confidence=confidence)
    learned = bounded_mean(rates, confidence=confidence)
    above = np.hypot(float(oracle.high) - oracle_successes / oracle_episodes, rates.mean() - float(learned.low))
    below = np.hypot(oracle_successes / oracle_episodes - float(oracle.low), float(learned.high) - rates.mean())
    return Estimate(value, value - float(below), value + float(above), rates.size, "gaffke over trainings")


def bounded_mean(values: object, *, confidence: float = 0.95) -> Bounds:
    """Bounds of the mean of independent values [K] from 0 to 1 of any distribution (Gaffke 2005).

    The upper one is a quantile of the mean of the values and 1 under uniform random weights; the lower one
    has 0 in place of 1. Of zeros and ones they are the bounds of Clopper and Pearson.
    """
    array, tail = np.sort(finite_numbers(values, "values of a bounded mean")), (1 - confidence) / 2
    return Bounds(
        np.array(1 - _upper_quantile(np.sort(1 - array), 1 - tail)), np.array(_upper_quantile(array, 1 - tail))
    )


def _upper_quantile(values: np.ndarray, share: float) -> float:
    """The quantile of the randomly weighted mean of sorted values and 1.

    Its density is the B-spline whose knots are these numbers (Curry and Schoenberg 1966).
    """
    knots = np.append(values, 1.0)
    if knots[-1] - knots[0] < 1e-9:
        return 1.0
    from scipy.interpolate import BSpline  # imported late: it takes a quarter of a second

    spline = BSpline.basis_element(knots, extrapolate=False)
    whole = (knots[-1] - knots[0]) / len(values)
    below = spline.antiderivative()
    start = float(below(knots[0]))
    low, high = float(values.mean()), 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        reached = (float(below(middle)) - start) / whole
        low, high = (middle, high) if reached < share else (low, middle)
    return high
