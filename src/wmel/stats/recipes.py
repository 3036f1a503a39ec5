"""The gap of a training recipe, from several trainings: some may have failed, and others may fail another time."""

from collections.abc import Sequence

import numpy as np

from wmel.errors import BadInput
from wmel.stats.estimate import Bounds, Estimate, finite_numbers
from wmel.stats.proportions import clopper_pearson

MIN_TRAININGS = 3  # two leave every gap within .84 of the observed one possible
HALVINGS = 50


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
