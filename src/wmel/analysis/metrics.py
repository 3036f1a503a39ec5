"""The metrics of a scorecard. Each is a function from a table of episodes to an estimate."""

import math
from functools import wraps
from itertools import chain
from typing import Annotated

import numpy as np

from wmel.parts import Meaning
from wmel.schema import EpisodeTable, Metric
from wmel.stats.estimate import (
    Estimate,
    interquartile_mean,
    mean,
    mean_over_clusters,
    percentile_over_clusters,
    wilson,
)
from wmel.stats.paired import PairedCounts, paired_ratio

NO_RETURN = "no whole episode has a return: no reward, or episodes stop at success"


def needs_criterion(metric: Metric) -> Metric:
    """A decorator that makes a metric undefined for episodes without a success criterion."""

    @wraps(metric)
    def estimate(table: EpisodeTable) -> Estimate:
        if len(table) and not table["judged"].all():
            return Estimate.undefined("no criterion given")
        return metric(table)

    return estimate


@needs_criterion
def success_rate(table: EpisodeTable) -> Estimate:
    """Share of episodes that succeed. An episode with an error counts as a failure."""
    if len(table) == 0:
        return Estimate.undefined("no episodes")
    return wilson(int(table["success"].sum()), len(table))


def success_at(*, steps: Annotated[int, Meaning("steps within which a success counts", at_least=1)]) -> Metric:
    """The success rate within a number of steps."""

    @needs_criterion
    def estimate(table: EpisodeTable) -> Estimate:
        """Share of episodes that succeed at step K or before."""
        if len(table) == 0:
            return Estimate.undefined("no episodes")
        first = table["first_success_step"]
        return wilson(int((table["success"] & (first > 0) & (first <= steps)).sum()), len(table))

    return estimate


@needs_criterion
def average_steps_to_success(table: EpisodeTable) -> Estimate:
    """Mean step at which success is established, over the successful episodes."""
    reached = table.where(success=True)
    if len(reached) == 0:
        return Estimate.undefined("no episode succeeded")
    return mean(reached["first_success_step"], lowest=1)


def average_return(table: EpisodeTable) -> Estimate:
    """Mean sum of rewards over whole episodes. An episode with an error has no return."""
    returns = _whole_returns(table)
    return mean(returns) if len(returns) else Estimate.undefined(NO_RETURN)


def interquartile_mean_return(table: EpisodeTable) -> Estimate:
    """Mean return of whole episodes without the lowest and the highest quarter."""
    returns = _whole_returns(table)
    return interquartile_mean(returns) if len(returns) else Estimate.undefined(NO_RETURN)


def _whole_returns(table: EpisodeTable) -> np.ndarray:
    return table["return"][~np.isnan(table["return"])]


def average_planning_latency_ms(table: EpisodeTable) -> Estimate:
    """Mean time of one decision at batch 1. Decisions of one episode are alike: the interval is over episodes."""
    times, episodes = _decision_times_ms(table)
    if not times.size:
        return Estimate.undefined("no decision was timed")
    return mean_over_clusters(times, episodes, lowest=0.0)


def _decision_times_ms(table: EpisodeTable) -> tuple[np.ndarray, np.ndarray]:
    """All timed decisions of a table [n], and the seeds of their episodes [n]."""
    times = np.array(list(chain.from_iterable(table["planning_latencies_ms"])), dtype=float)
    return times, np.repeat(table["episode_seed"], [len(one) for one in table["planning_latencies_ms"]])


def p50(table: EpisodeTable) -> Estimate:
    """Median time of a decision at batch 1."""
    return percentile_over_clusters(*_decision_times_ms(table), 50)


def p95(table: EpisodeTable) -> Estimate:
    """95th percentile of the time of a decision at batch 1."""
    return percentile_over_clusters(*_decision_times_ms(table), 95)


def p99(table: EpisodeTable) -> Estimate:
    """99th percentile of the time of a decision at batch 1."""
    return percentile_over_clusters(*_decision_times_ms(table), 99)


def deadline_at(
    *, milliseconds: Annotated[float, Meaning("time within which a decision is in time", above=0, below=math.inf)]
) -> Metric:
    """The share of decisions that meet a deadline."""

    def estimate(table: EpisodeTable) -> Estimate:
        """Share of the timed decisions that take no longer than the deadline."""
        times, _ = _decision_times_ms(table)
        if not times.size:
            return Estimate.undefined("no decision was timed")
        return wilson(int((times <= milliseconds).sum()), times.size)

    return estimate


def average_compute_per_decision(table: EpisodeTable) -> Estimate:
    """Declared compute per plan call x plan calls / executed steps, over all episodes, as in the wmel 0.18 repository.

    A plan that the end of the episode cuts short counts in full. The column `model_steps` has the counted steps.
    """
    if np.isnan(table["declared_compute"]).any():
        return Estimate.undefined("the policy declares no compute per plan call")
    steps = int(table["steps"].sum())
    if steps == 0:
        return Estimate.undefined("no step was executed")
    return Estimate(float(table["declared_compute"].sum()) / steps, n=steps, method="ratio")


@needs_criterion
def perturbation_recovery_rate(table: EpisodeTable) -> Estimate:
    """Share of perturbed episodes that succeed. Episodes that end before their perturbation are excluded."""
    perturbed = table.where(perturbed=True)
    if len(perturbed) == 0:
        return Estimate.undefined("no episode was perturbed")
    return wilson(int(perturbed["success"].sum()), len(perturbed))


@needs_criterion
def perturbation_recovery_ratio(table: EpisodeTable) -> Estimate:
    """Success rate of the perturbed episodes, divided by that of the same seeds without the perturbation."""
    perturbed = table.where(perturbed=True)
    if len(perturbed) == 0:
        return Estimate.undefined("no episode was perturbed")
    if np.isnan(perturbed["unperturbed_success"]).any():
        return Estimate.undefined("the struck seeds were not run without the perturbation")
    unperturbed = float(perturbed["unperturbed_success"].mean())
    if unperturbed == 0:
        return Estimate.undefined("none of the struck seeds succeeds without the perturbation either")
    counts = PairedCounts.of(perturbed["unperturbed_success"] == 1, perturbed["success"])
    low, high = paired_ratio(int(counts.both), int(counts.oracle_only), int(counts.learned_only))
    ratio = float(perturbed["success"].mean()) / unperturbed
    return Estimate(ratio, float(low), float(high), len(perturbed), "score of paired ratios")


@needs_criterion
def pre_solved_rate(table: EpisodeTable) -> Estimate:
    """Share of start states at which the criterion already holds."""
    if len(table) == 0:
        return Estimate.undefined("no episodes")
    return wilson(int(table["pre_solved"].sum()), len(table))


def error_rate(table: EpisodeTable) -> Estimate:
    """Share of episodes that end with an error. They also count as failures in the success rate."""
    if len(table) == 0:
        return Estimate.undefined("no episodes")
    return wilson(int((table["error"] != "").sum()), len(table))
