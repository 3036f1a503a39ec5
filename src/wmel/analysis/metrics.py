"""The metrics of a scorecard: each is a function from a table of episodes to an estimate."""

import math
from functools import wraps
from itertools import chain
from typing import Annotated

import numpy as np

from wmel.parts import Meaning
from wmel.schema import EpisodeTable, Metric
from wmel.stats.estimate import Estimate, mean_normal, percentile
from wmel.stats.proportions import wilson


def needs_criterion(metric: Metric) -> Metric:
    """The metric, undefined where episodes ran without a criterion of success."""

    @wraps(metric)
    def judged(table: EpisodeTable) -> Estimate:
        if len(table) and not table["judged"].all():
            return Estimate.undefined("no criterion given")
        return metric(table)

    return judged


@needs_criterion
def success_rate(table: EpisodeTable) -> Estimate:
    """Share of episodes that succeed; one that broke counts as a failure."""
    if len(table) == 0:
        return Estimate.undefined("no episodes")
    return wilson(int(table["success"].sum()), len(table))


def success_at(*, steps: Annotated[int, Meaning("steps within which a success counts", at_least=1)]) -> Metric:
    """The metric for one number of steps."""

    @needs_criterion
    def within(table: EpisodeTable) -> Estimate:
        """Share of episodes that succeed at step K or before."""
        if len(table) == 0:
            return Estimate.undefined("no episodes")
        first = table["first_success_step"]
        return wilson(int((table["success"] & (first > 0) & (first <= steps)).sum()), len(table))

    return within


@needs_criterion
def average_steps_to_success(table: EpisodeTable) -> Estimate:
    """Mean step at which success was reached, over the episodes that reached it."""
    reached = table.where(success=True)
    if len(reached) == 0:
        return Estimate.undefined("no episode succeeded")
    return mean_normal(reached["first_success_step"])


def average_return(table: EpisodeTable) -> Estimate:
    """Mean sum of rewards over whole episodes; one that broke has none."""
    returns = table["return"][~np.isnan(table["return"])]
    if len(returns) == 0:
        return Estimate.undefined("no whole episode has a return: no reward, or episodes stop at success")
    return mean_normal(returns)


def average_planning_latency_ms(table: EpisodeTable) -> Estimate:
    """Mean time of one decision at batch 1, with the documents' normal interval."""
    times = decision_times_ms(table)
    return mean_normal(times) if times.size else Estimate.undefined("no decision was timed")


def decision_times_ms(table: EpisodeTable) -> np.ndarray:
    """All timed decisions of a table [n]."""
    return np.array(list(chain.from_iterable(table["planning_latencies_ms"])), dtype=float)


def p50(table: EpisodeTable) -> Estimate:
    """Half of the decisions at batch 1 take no longer."""
    return percentile(decision_times_ms(table), 50)


def p95(table: EpisodeTable) -> Estimate:
    """All but one in twenty decisions at batch 1 take no longer."""
    return percentile(decision_times_ms(table), 95)


def p99(table: EpisodeTable) -> Estimate:
    """All but one in a hundred decisions at batch 1 take no longer."""
    return percentile(decision_times_ms(table), 99)


def deadline_at(
    *, milliseconds: Annotated[float, Meaning("time within which a decision is in time", above=0, below=math.inf)]
) -> Metric:
    """The metric for one deadline."""

    def met(table: EpisodeTable) -> Estimate:
        """Share of the timed decisions that take no longer than the deadline."""
        times = decision_times_ms(table)
        if not times.size:
            return Estimate.undefined("no decision was timed")
        return wilson(int((times <= milliseconds).sum()), times.size)

    return met


def average_compute_per_decision(table: EpisodeTable) -> Estimate:
    """The documents' formula: declared compute per plan call x plan calls / executed steps, over all episodes.

    A plan cut short by the end of the episode is charged in full; the counted model steps are a column of their own.
    """
    if np.isnan(table["declared_compute"]).any():
        return Estimate.undefined("the policy declares no compute per plan call")
    steps = int(table["steps"].sum())
    if steps == 0:
        return Estimate.undefined("no step was executed")
    return Estimate(float(table["declared_compute"].sum()) / steps, n=steps, method="ratio")


@needs_criterion
def perturbation_recovery_rate(table: EpisodeTable) -> Estimate:
    """Share of struck episodes that succeed; one that ended before its perturbation does not count."""
    struck = table.where(perturbed=True)
    if len(struck) == 0:
        return Estimate.undefined("no episode was perturbed")
    return wilson(int(struck["success"].sum()), len(struck))


@needs_criterion
def perturbation_recovery_ratio(table: EpisodeTable) -> Estimate:
    """Success of the struck episodes over that of the same seeds without the perturbation."""
    struck = table.where(perturbed=True)
    if len(struck) == 0:
        return Estimate.undefined("no episode was perturbed")
    if np.isnan(struck["unperturbed_success"]).any():
        return Estimate.undefined("the struck seeds were not run without the perturbation")
    alone = float(struck["unperturbed_success"].mean())
    if alone == 0:
        return Estimate.undefined("none of the struck seeds succeeds without the perturbation either")
    return Estimate(float(struck["success"].mean()) / alone, n=len(struck), method="ratio on the same seeds")


@needs_criterion
def pre_solved_rate(table: EpisodeTable) -> Estimate:
    """Share of start states in which the criterion already holds."""
    if len(table) == 0:
        return Estimate.undefined("no episodes")
    return wilson(int(table["pre_solved"].sum()), len(table))


def error_rate(table: EpisodeTable) -> Estimate:
    """Share of episodes that ended in an error; each also counts as a failure in the success rate."""
    if len(table) == 0:
        return Estimate.undefined("no episodes")
    return wilson(int((table["error"] != "").sum()), len(table))
