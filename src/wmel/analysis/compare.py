"""Paired comparison of two runs, on the episodes of both."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import floor
from typing import Any

import numpy as np

from wmel.analysis.gap import sort_by_seed, success_mask
from wmel.contract.cell import part_label
from wmel.errors import BadInput, is_number, require
from wmel.schema import Run
from wmel.stats.estimate import Estimate
from wmel.stats.exact import PairedArms, difference_p, exact_interval, method_of, probability_of_improvement, shows_gap
from wmel.stats.means import paired_t, weighted_mean
from wmel.stats.paired import PairedCounts, holm, mcnemar_mid_p
from wmel.stats.power import discordant_outcomes

LEVEL = 0.05  # of significance, after Holm's correction


@dataclass(frozen=True, eq=False)
class PairedDelta:
    """The comparison of one task. Every difference is B - A."""

    task: str
    pairs: int  # episodes of both runs
    outcomes: PairedCounts | None  # with B as the oracle and A as the model; None: there is no success criterion
    success: Estimate
    returns: Estimate
    improvement: Estimate  # how likely the return of B is above that of A
    errors: tuple[int, int]  # episodes with an error in A and in B, among the pairs; they count as failures
    only_in_a: tuple[int, ...]  # episode seeds
    only_in_b: tuple[int, ...]
    compared: tuple[str, ...]  # the differences between the runs
    p_value_holm: float | None = None  # over all tasks
    mid_p_holm: float | None = None  # the same of the mid-p
    smallest_drop: float | None = None  # the smallest drop that so many pairs detect with 80% power; None: none

    @property
    def p_value(self) -> float | None:
        """Two-sided p-value of equal success; it is at most .05 exactly where the interval excludes 0."""
        if self.outcomes is None:
            return None
        return difference_p(PairedArms(self.pairs), int(self.outcomes.oracle_only), int(self.outcomes.learned_only))

    @property
    def mid_p(self) -> float | None:
        if self.outcomes is None:
            return None
        return float(mcnemar_mid_p(self.outcomes.oracle_only, self.outcomes.learned_only))

    @property
    def is_shown(self) -> bool:
        """Whether the difference of success is statistically significant."""
        return self.p_value_holm is not None and self.p_value_holm <= LEVEL

    def is_worse_by(self, bound: float) -> bool:
        """Whether B succeeds significantly less often than A, and by at least `bound`."""
        require(is_number(bound) and 0 < bound <= 1, "a drop of success must lie in (0, 1]", bound)
        return self.is_shown and self.success.value is not None and self.success.value <= -bound


@dataclass(frozen=True, eq=False)
class PairedDeltas:
    """The comparisons of all common tasks, the reasons for tasks without one, and the tasks of one side only."""

    tasks: tuple[PairedDelta, ...]
    refused: Mapping[str, str]
    only_in_a: tuple[str, ...]
    only_in_b: tuple[str, ...]

    @property
    def improvement(self) -> Estimate:
        """The probability of improvement in return, each task weighing the same."""
        known = [one.improvement for one in self.tasks if one.improvement.is_defined]
        if not known:
            return Estimate.undefined(self.tasks[0].improvement.reason)
        return (
            known[0] if len(known) == 1 else weighted_mean(known, np.full(len(known), 1 / len(known)), "mean of tasks")
        )


def paired_deltas(a: Mapping[str, Run], b: Mapping[str, Run]) -> PairedDeltas:
    """B - A for every common task, paired on episode seeds, with Holm's correction over the tasks."""
    only_in_a, only_in_b = tuple(task for task in a if task not in b), tuple(task for task in b if task not in a)
    found, refused = [], {}
    for task in (task for task in a if task in b):
        try:
            found.append(_paired_delta(task, a[task], b[task]))
        except BadInput as error:
            refused[task] = str(error)
    if not found:
        alone = {"only in A": only_in_a, "only in B": only_in_b}
        lists = [f"{where}: {', '.join(tasks[:3])}" for where, tasks in alone.items() if tasks]
        reasons = [f"{task}: {reason}" for task, reason in list(refused.items())[:3]] or ["no task in common", *lists]
        raise BadInput(f"nothing to compare: {'; '.join(reasons)}")
    return PairedDeltas(_correct_for_tasks(found), refused, only_in_a, only_in_b)


def smallest_drop(outcomes: PairedCounts, tasks: int = 1, power: float = 0.8) -> float | None:
    """The smallest drop, in hundredths, that the pairs detect with the given power at the strictest step of Holm.

    It is found by enumeration, for a B that alone solves the observed share of the pairs. None: no drop is detected.
    """
    n, gained = int(outcomes.n), float(outcomes.oracle_only / outcomes.n)
    arms, level = PairedArms(n), LEVEL / 2 / tasks
    rate_of_a = float((outcomes.both + outcomes.learned_only) / outcomes.n)

    def is_enough(hundredths: int) -> bool:
        outcomes = discordant_outcomes(n, min(gained + hundredths / 100, 1.0), gained)
        counts = outcomes.count_leading(lambda one, other: (other < one) & shows_gap(arms, one, other, level))
        return outcomes.probability(np.zeros_like(counts), counts) >= power

    most = floor(100 * min(rate_of_a - gained, 1 - 2 * gained) + 1e-9)
    found = 1 + bisect_left(range(1, most + 1), True, key=is_enough)  # power increases with the drop
    return found / 100 if found <= most else None


def _paired_delta(task: str, a: Run, b: Run) -> PairedDelta:
    _check_same_task(a, b)
    shared = np.intersect1d(_unique_seeds(a), _unique_seeds(b), assume_unique=True)
    if not len(shared):
        raise BadInput(f"A and B share no episode: seeds {_format_seeds(a)} in A and {_format_seeds(b)} in B")
    one, other = (sort_by_seed(run.table.of_seeds(shared)) for run in (a, b))
    outcomes, success = None, Estimate.undefined("no criterion of success was given", len(shared))
    if one["judged"].all() and other["judged"].all():
        outcomes = PairedCounts.of(success_mask(other), success_mask(one))
        arms = PairedArms(len(shared))
        low, high = exact_interval(arms, int(outcomes.oracle_only), int(outcomes.learned_only))
        success = Estimate(float(outcomes.gap), float(low), float(high), len(shared), method_of(arms))
    whole = ~(np.isnan(one["return"]) | np.isnan(other["return"]))
    returns = one["return"][whole], other["return"][whole]
    return PairedDelta(
        task=task,
        pairs=len(shared),
        outcomes=outcomes,
        success=success,
        returns=_return_delta(*returns),
        improvement=_improvement(*returns),
        errors=(int((one["error"] != "").sum()), int((other["error"] != "").sum())),
        only_in_a=tuple(np.setdiff1d(_unique_seeds(a), shared).tolist()),
        only_in_b=tuple(np.setdiff1d(_unique_seeds(b), shared).tolist()),
        compared=_list_differences(a, b),
    )


def _correct_for_tasks(deltas: list[PairedDelta]) -> tuple[PairedDelta, ...]:
    """Adds Holm's p-values and the smallest drop. Both depend on the number of tasks with a success criterion."""
    judged = [delta for delta in deltas if delta.outcomes is not None]
    p_values, mid_ps = (
        iter(holm([getattr(delta, name) for delta in judged]).tolist() if judged else ())
        for name in ("p_value", "mid_p")
    )
    return tuple(
        delta
        if delta.outcomes is None
        else replace(
            delta,
            p_value_holm=next(p_values),
            mid_p_holm=next(mid_ps),
            smallest_drop=smallest_drop(delta.outcomes, len(judged)),
        )
        for delta in deltas
    )


def _check_same_task(a: Run, b: Run) -> None:
    """Raises BadInput for runs that differ in more than the policy and the episodes."""
    one, other = (replace(run, policy_settings={}, seeds=()).setting for run in (a, b))
    differing = [
        f"{name} is {_format_value(one[name])} in A and {_format_value(other[name])} in B"
        for name in one
        if one[name] != other[name]
    ]
    if differing:
        raise BadInput("; ".join(differing))


def _list_differences(a: Run, b: Run) -> tuple[str, ...]:
    """The differences between two runs of one task, in words."""
    described_a, described_b = _describe_run(a), _describe_run(b)
    names = [name for name in {**described_a, **described_b} if described_a.get(name) != described_b.get(name)]
    found = []
    for name in names:
        values = described_a.get(name), described_b.get(name)
        shown = [_format_value(_without_shared_settings(*pair)) for pair in (values, values[::-1])]
        found.append(f"{name}: {shown[0]} in A, {shown[1]} in B")
    return tuple(found)


def _format_value(value: Any) -> str:
    """A value as text on one line; a part with its settings."""
    if isinstance(value, Mapping) and "name" in value:
        return part_label({name: one for name, one in value.items() if one is not None}, " ")
    return "none" if value is None else "/".join(str(value).splitlines())


def _describe_run(run: Run) -> dict[str, Any]:
    packages = {f"version of {package}": number for package, number in run.versions.items()}
    return {"policy": run.policy_name, "reads": run.policy_reads, **run.policy_settings, **packages}


def _without_shared_settings(one: Any, other: Any) -> Any:
    """A part with its name and the settings that differ from those of another part of this name."""
    if not isinstance(one, Mapping) or not isinstance(other, Mapping) or one.get("name") != other.get("name"):
        return one
    return {name: value for name, value in one.items() if name == "name" or value != other.get(name)}


def _return_delta(a: np.ndarray, b: np.ndarray) -> Estimate:
    if len(a) < 2:
        return Estimate.undefined("fewer than two pairs of whole episodes: returns need stop = horizon")
    return paired_t(b, a)


def _improvement(a: np.ndarray, b: np.ndarray) -> Estimate:
    return probability_of_improvement(b, a) if len(a) else Estimate.undefined("no pair of whole episodes has returns")


def _unique_seeds(run: Run) -> np.ndarray:
    seeds = run.table["episode_seed"]
    if len(np.unique(seeds)) < len(seeds):
        raise BadInput("an episode seed appears twice in one run: episodes cannot be paired")
    return seeds


def _format_seeds(run: Run) -> str:
    """The first episode seeds of a run, as text."""
    seeds = run.table["episode_seed"]
    return ", ".join(str(seed) for seed in seeds[:3]) + (", ..." if len(seeds) > 3 else "")
