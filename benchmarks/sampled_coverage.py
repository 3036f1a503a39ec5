"""How often intervals of recipes, means, percentiles, ratios and probabilities of improvement cover the truth.

By simulation with fixed seeds.
"""

from collections.abc import Callable
from functools import cache
from statistics import NormalDist

import numpy as np

from wmel.stats.estimate import Estimate, interquartile_mean, mean_over_clusters, percentile_over_clusters
from wmel.stats.exact import probability_of_improvement
from wmel.stats.means import Scale, cluster_bootstrap, weighted_mean
from wmel.stats.proportions import recipe_gap

SEED = 10
RUNS = {"recipe": 1000, "mean": 10_000, "middle": 10_000, "percentile": 1000, "ratio": 1000, "improvement": 1000}
Sample = Callable[[np.random.Generator, int], np.ndarray]

TRAININGS = tuple(range(3, 21))
ORACLE = 0.95  # the oracle's success rate beside a recipe
SOLVED = 0.9  # by a training that did not fail; one that failed solves nothing
DEVIATIONS, FAILING = (0.0, 0.05, 0.1, 0.2, 0.3), (0.05, 0.1, 0.2, 0.5)
RECIPES = (*(f"normal, deviation {one:g}" for one in DEVIATIONS), *(f"{one:.0%} failed" for one in FAILING))
EPISODES = {"50 each": (50, 50), "100 and 10 in turn": (100, 10)}  # of each training


def standard_error(share: float, runs: int) -> float:
    return (share * (1 - share) / runs) ** 0.5


def _share_covered(estimate: Callable[[np.random.Generator], Estimate], truth: float, runs: int) -> float:
    """How many of the intervals cover the truth. Estimates without an interval do not count."""
    rng = np.random.default_rng(SEED)
    covered = [
        found.low <= truth <= found.high
        for found in (estimate(rng) for _ in range(runs))
        if found.low is not None and found.high is not None
    ]
    return sum(covered) / len(covered)


def recipe_coverage(recipe: str, episodes: str, trainings: int) -> float:
    """Coverage of the gap of a recipe whose trainings differ in this way."""
    sample, mean = _training_rates(recipe)
    counts = np.resize(EPISODES[episodes], trainings)

    def estimate(rng: np.random.Generator) -> Estimate:
        learned = rng.binomial(counts, sample(rng, trainings)) / counts
        return recipe_gap(int(rng.binomial(counts.sum(), ORACLE)), int(counts.sum()), learned.tolist())

    return _share_covered(estimate, ORACLE - mean, RUNS["recipe"])


def _training_rates(recipe: str) -> tuple[Sample, float]:
    """Success rates of trainings, and their mean. Normal ones are symmetric, so clipping does not move the mean."""
    place = RECIPES.index(recipe)
    if place < len(DEVIATIONS):
        return lambda rng, count: np.clip(rng.normal(0.5, DEVIATIONS[place], count), 0, 1), 0.5
    failing = FAILING[place - len(DEVIATIONS)]
    return lambda rng, count: np.where(rng.random(count) < failing, 0.0, SOLVED), SOLVED * (1 - failing)


VALUES: dict[str, tuple[Sample, float]] = {
    "normal": (lambda rng, count: rng.normal(3, 1, count), 3.0),
    "exponential": (lambda rng, count: rng.exponential(1, count), 1.0),
    "geometric, like steps": (lambda rng, count: rng.geometric(0.05, count).astype(float), 20.0),
    "lognormal": (lambda rng, count: rng.lognormal(0, 1, count), float(np.exp(0.5))),
}
COUNTS, DECISIONS = (5, 10, 30), (1, 10)  # episodes, values of each


def mean_coverage(kind: str, decisions: int, count: int) -> float:
    """Coverage of the mean over so many episodes. Values of one episode share its value, and vary around it."""
    sample, mean = VALUES[kind]
    episodes, within = np.repeat(np.arange(count), decisions), 0.2 if decisions > 1 else 0.0

    def estimate(rng: np.random.Generator) -> Estimate:
        values = np.repeat(sample(rng, count), decisions)
        return mean_over_clusters(values + rng.normal(0, within, values.size), episodes)

    return _share_covered(estimate, mean, RUNS["mean"])


def _with_failures(share: float) -> Sample:
    """Returns around 800, and around 100 where an episode fails."""
    return lambda rng, count: np.where(
        rng.random(count) < share, rng.normal(100, 20, count), rng.normal(800, 50, count)
    )


MIDDLES: dict[str, Sample] = {
    **{kind: sample for kind, (sample, _) in VALUES.items()},
    "Student's t, 2 degrees": lambda rng, count: rng.standard_t(2, count),
    **{f"{share:.0%} fail": _with_failures(share) for share in (0.2, 0.25, 0.5)},
}
MIDDLE_COUNTS = (15, 16, 20, 30, 50)
POPULATION = 1_000_000


@cache
def _true_middle(kind: str) -> float:
    """The interquartile mean of so many values that its error is far below that of any sample."""
    return interquartile_mean(MIDDLES[kind](np.random.default_rng(SEED + 1), POPULATION)).value or 0.0


def middle_coverage(kind: str, count: int) -> float:
    """Coverage of the interquartile mean of so many values."""
    return _share_covered(lambda rng: interquartile_mean(MIDDLES[kind](rng, count)), _true_middle(kind), RUNS["middle"])


LATENCIES = {  # spread of the logarithm of a decision's time between episodes, and within one
    "episodes alike": (0.0, 0.2),
    "episodes differ": (0.3, 0.2),
    "decisions alike": (0.3, 0.03),
}
PERCENTILES = ((50, 20), (50, 40), (95, 72), (95, 100), (99, 368))  # and numbers of episodes
TIMED = (1, 5, 20)  # decisions per episode


def percentile_coverage(kind: str, percentile: tuple[int, int], timed: int) -> float:
    """Coverage of a percentile, over a number of episodes, of lognormal times of decisions."""
    (percent, episodes), (between, within) = percentile, LATENCIES[kind]
    truth = float(np.exp(NormalDist().inv_cdf(percent / 100) * np.hypot(between, within)))
    places = np.repeat(np.arange(episodes), timed)

    def estimate(rng: np.random.Generator) -> Estimate:
        logs = rng.normal(0, between, episodes)[:, None] + rng.normal(0, within, (episodes, timed))
        return percentile_over_clusters(np.exp(logs).ravel(), places, percent)

    return _share_covered(estimate, truth, RUNS["percentile"])


CLUSTERS = (10, 15, 30)


def _skewed_weights(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.gamma(2, 0.5, count)


def _even_weights(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.uniform(0.5, 1.5, count)


def _alike(_: np.random.Generator, count: int) -> np.ndarray:
    return np.ones(count)


RATIOS: dict[str, tuple[Scale, Sample, Sample, float]] = {  # scale, weights, values, their mean
    "normal": ("plain", _even_weights, lambda rng, count: rng.normal(2, 0.6, count), 2),
    "normal, logarithm": ("log", _even_weights, lambda rng, count: rng.normal(2, 0.6, count), 2),
    "uniform, bounded": ("bounded", _alike, lambda rng, count: rng.uniform(-1, 1, count), 0),
    "cosines near 1, bounded": ("bounded", _alike, lambda rng, count: 1 - 2 * rng.beta(0.7, 8, count), 1 - 1.4 / 8.7),
    "gamma": ("plain", _skewed_weights, lambda rng, count: rng.gamma(2, 0.5, count), 1),
    "gamma, logarithm": ("log", _skewed_weights, lambda rng, count: rng.gamma(2, 0.5, count), 1),
    "lognormal": ("plain", _alike, VALUES["lognormal"][0], VALUES["lognormal"][1]),
}
SKEWED = ("exponential", "geometric, like steps", "lognormal", "gamma", "gamma, logarithm", "cosines near 1, bounded")


def ratio_coverage(kind: str, clusters: int) -> float:
    """Coverage of a ratio of sums over so many clusters: weighted values over the weights."""
    scale, sample_weights, sample, mean = RATIOS[kind]

    def estimate(rng: np.random.Generator) -> Estimate:
        weights = sample_weights(rng, clusters)
        return cluster_bootstrap(weights * sample(rng, clusters), weights, np.arange(clusters), scale=scale)

    return _share_covered(estimate, float(mean), RUNS["ratio"])


IMPROVEMENTS = {  # how likely a pair of each task is above, and equal; tasks take them in turn
    "no side": ((0.5, 0.0),),
    "tasks differ": ((0.9, 0.0), (0.2, 0.3)),
    "mostly equal": ((0.1, 0.85), (0.02, 0.9)),
    "nearly always above": ((0.97, 0.02),),
}
TASKS, PAIRS = (1, 2, 5), (5, 10, 30)


@cache
def _improvement(pairs: int, above: int, equal: int) -> Estimate:
    better = np.concatenate([np.full(above, 2.0), np.full(equal, 1.0), np.zeros(pairs - above - equal)])
    return probability_of_improvement(better, np.ones(pairs))


def improvement_coverage(kind: str, tasks: int, pairs: int) -> float:
    """Coverage of the probability of improvement over tasks that weigh the same, of so many pairs each."""
    chances = np.array([IMPROVEMENTS[kind][place % len(IMPROVEMENTS[kind])] for place in range(tasks)])
    weights, truth = np.full(tasks, 1 / tasks), float((chances @ [1, 0.5]).mean())

    def estimate(rng: np.random.Generator) -> Estimate:
        counts = rng.multinomial(pairs, [[*chance, 1 - sum(chance)] for chance in chances])
        return weighted_mean([_improvement(pairs, *map(int, row[:2])) for row in counts], weights, "mean of tasks")

    return _share_covered(estimate, truth, RUNS["improvement"])
