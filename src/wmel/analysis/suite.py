"""The gap over a suite of tasks: a weighted mean of the gaps of its tasks, each with its own interval."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from wmel.analysis.gap import CPGResult, counterfactual_planning_gap
from wmel.errors import BadInput
from wmel.stats.estimate import Estimate, finite_numbers
from wmel.stats.means import weighted_mean


@dataclass(frozen=True, eq=False)
class SuiteGap:
    """The gap of a suite, the weight of each task (they add up to 1), and the gaps of the tasks."""

    gap: Estimate
    weights: Mapping[str, float]
    tasks: Mapping[str, CPGResult]

    def __repr__(self) -> str:
        weights = ", ".join(f"{task} {weight:.3g}" for task, weight in self.weights.items())
        return f"SuiteGap({self.gap.words}; weights: {weights})"


def suite_gap(tasks: Mapping[str, Any], weights: Mapping[str, float] | None = None) -> SuiteGap:
    """The gap over disjoint tasks, each a CPGResult or (oracle, learned) as `counterfactual_planning_gap` takes them.

    The weights are the episodes of each task unless they are given: the gap is then that of all episodes together, as
    the CPG paper defines it. The interval combines those of the tasks (`wmel.stats.means.weighted_mean`); different
    shares of episodes in the two arms do not bias it.
    """
    if not isinstance(tasks, Mapping) or not tasks:
        raise BadInput(f"a suite is a mapping from the name of a task to its two arms, got {tasks!r:.60}")
    results = {name: _result_of(name, arms) for name, arms in tasks.items()}
    given = {name: one.n_episodes_learned for name, one in results.items()} if weights is None else dict(weights)
    if set(given) != set(results):
        raise BadInput(f"a suite needs one weight for each task ({', '.join(results)}), got {', '.join(given)}")
    shares = finite_numbers([given[name] for name in results], "weights of tasks")
    if shares.min() < 0 or shares.sum() <= 0:
        raise BadInput(f"weights of tasks must not be negative, and not all 0, got {given!r}")
    shares = shares / shares.sum()
    gap = weighted_mean([one.gap for one in results.values()], shares, "weighted exact scores")
    estimate = replace(gap, n=sum(one.n_episodes_learned for one in results.values()))
    return SuiteGap(estimate, dict(zip(results, map(float, shares), strict=True)), results)


def _result_of(name: str, arms: Any) -> CPGResult:
    if isinstance(arms, CPGResult):
        return arms
    try:
        oracle, learned = arms
    except (TypeError, ValueError):
        raise BadInput(f"task '{name}' needs (oracle, learned) or a gap, got {arms!r:.60}") from None
    return counterfactual_planning_gap(oracle, learned)
