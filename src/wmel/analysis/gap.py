"""The Counterfactual Planning Gap of two arms, with its confidence interval, and its weighted mean over tasks."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wmel.errors import BadInput, require_whole
from wmel.schema import EpisodeTable, Run
from wmel.stats.estimate import Estimate, check_counts, finite_numbers
from wmel.stats.exact import IndependentArms, PairedArms, TwoArms, difference_p, exact_interval, method_of
from wmel.stats.means import weighted_mean
from wmel.stats.paired import PairedCounts, mcnemar_mid_p, paired_ratio
from wmel.stats.proportions import agresti_caffo, relative_loss
from wmel.stats.sequential import anytime_p_value


@dataclass(frozen=True, eq=False)
class CPGResult:
    """Successes of two arms that differ only in their model. `pairs` is set if both ran the same seeds."""

    oracle_successes: int
    n_episodes_oracle: int
    learned_successes: int
    n_episodes_learned: int
    pairs: PairedCounts | None = None
    errors: int = 0  # episodes with an error, in either arm; they count as failures
    without_errors: "CPGResult | None" = None  # the result without these pairs
    learned_errors: tuple[int, int] = (0, 0)  # of the learned arm, where the oracle succeeds and where it fails too

    def __repr__(self) -> str:
        rates = f"oracle {self.oracle_success_rate:.3g}, model {self.learned_success_rate:.3g}"
        return f"CPGResult(gap {self.gap.words}: {rates} of {self.n_episodes_learned} episodes)"

    @property
    def oracle_success_rate(self) -> float:
        return self.oracle_successes / self.n_episodes_oracle

    @property
    def learned_success_rate(self) -> float:
        return self.learned_successes / self.n_episodes_learned

    @property
    def raw_gap(self) -> float:
        """p_o - p_l, the difference of the observed rates."""
        return self.oracle_success_rate - self.learned_success_rate

    @property
    def gap(self) -> Estimate:
        """The gap with its 95% interval: the differences that an exact score test does not reject."""
        return self.gap_at(0.95)

    @property
    def p_value(self) -> Estimate:
        """Two-sided p-value of equal success rates; it is at most .05 exactly where the 95% interval excludes 0."""
        p_value = difference_p(self.design, *self.outcome)
        return Estimate(p_value, n=self.n_episodes_oracle, method=method_of(self.design))

    @property
    def anytime_p_value(self) -> Estimate:
        """A p-value that is valid whenever the run stopped; it needs pairs."""
        if self.pairs is None:
            return Estimate.undefined("the arms are not paired")
        return Estimate(anytime_p_value(*self.outcome), n=self.n_episodes_oracle, method="anytime bets")

    @property
    def design(self) -> TwoArms:
        """How many episodes the arms have, and whether they are paired."""
        if self.pairs is not None:
            return PairedArms(self.n_episodes_oracle)
        return IndependentArms(self.n_episodes_oracle, self.n_episodes_learned)

    @property
    def outcome(self) -> tuple[int, int]:
        """The counts that decide: the pairs that one arm alone solves, or the successes of independent arms."""
        if self.pairs is not None:
            return int(self.pairs.oracle_only), int(self.pairs.learned_only)
        return self.oracle_successes, self.learned_successes

    @property
    def agresti_caffo(self) -> Estimate:
        """The gap with the interval of the CPG paper, which may exceed [-1, 1]."""
        low, high = agresti_caffo(*self._counts)
        return Estimate(self.raw_gap, float(low), float(high), self.n_episodes_oracle, "agresti-caffo")

    @property
    def mid_p(self) -> Estimate:
        """McNemar's mid-p for pairs."""
        if self.pairs is None:
            return Estimate.undefined("the arms are not paired")
        p_value = mcnemar_mid_p(self.pairs.oracle_only, self.pairs.learned_only)
        return Estimate(float(p_value), n=int(self.pairs.n), method="mcnemar mid-p")

    @property
    def relative_loss(self) -> Estimate:
        """1 - p_l / p_o: the share of the oracle's success that is lost. It excludes 0 exactly where the gap does."""
        if self.oracle_successes == 0:
            return Estimate.undefined("the oracle never succeeds: there is nothing to lose")
        lost = 1 - self.learned_success_rate / self.oracle_success_rate
        if self.pairs is None:
            method, (low, high) = "mover-r", relative_loss(*self._counts)
        else:
            ratio = paired_ratio(int(self.pairs.both), *self.outcome)
            method, (low, high) = "score of paired ratios", (1 - ratio.high, 1 - ratio.low)
        low, high, gap = float(low), float(high), self.gap
        assert gap.low is not None and gap.high is not None
        low = max(low, 0.0) if gap.low > 0 else min(low, 0.0) if gap.high >= 0 else low
        high = min(high, 0.0) if gap.high < 0 else max(high, 0.0) if gap.low <= 0 else high
        return Estimate(lost, low, high, self.n_episodes_oracle, method)

    @property
    def failure_split(self) -> dict[str, float]:
        """The failures of the learned arm, as shares of its episodes that add up to its failure rate.

        Of pairs: errors of the arm, failures that also occur with the true dynamics, and those that do not. Of
        independent arms, whose failures cannot be matched, the rates are compared; where the learned arm fails less
        often there is no split.
        """
        n = self.n_episodes_learned
        if self.pairs is not None:
            alone, too = self.learned_errors
            errors = {"errors": (alone + too) / n} if alone + too else {}
            also, added = int(self.pairs.neither) - too, int(self.pairs.oracle_only) - alone
            return {**errors, "planner and score": also / n, "model": added / n}
        errors, rest = sum(self.learned_errors) / n, 1 - self.learned_success_rate
        own = min(1 - self.oracle_success_rate, rest - errors)
        if self.raw_gap < 0:
            return {}
        return {**({"errors": errors} if errors else {}), "planner and score": own, "model": rest - errors - own}

    def gap_at(self, confidence: float) -> Estimate:
        """The gap with its interval at another confidence level."""
        low, high = exact_interval(self.design, *self.outcome, confidence)
        return Estimate(self.raw_gap, float(low), float(high), self.n_episodes_oracle, method_of(self.design))

    @property
    def _counts(self) -> tuple[int, int, int, int]:
        return self.oracle_successes, self.n_episodes_oracle, self.learned_successes, self.n_episodes_learned


def counterfactual_planning_gap(oracle: Any, learned: Any, *, apart_from: tuple[str, ...] = ()) -> CPGResult:
    """The gap of two arms, each given as (successes, episodes), an episode table, or a run.

    Tables of the same seeds are paired. Raises BadInput for tables that share only some seeds, and for runs that differ
    in more than their model and the settings `apart_from`.
    """
    if isinstance(oracle, Run) and isinstance(learned, Run):
        _check_same_setting(oracle, learned, apart_from)
    tables = [_find_table(arm) for arm in (oracle, learned)]
    if tables[0] is not None and tables[1] is not None:
        return _gap_of_tables(tables[0], tables[1])
    if tables[0] is not None or tables[1] is not None:
        raise BadInput("give both arms as counts or both as tables of episodes")
    (s_o, n_o), (s_l, n_l) = _parse_counts(oracle), _parse_counts(learned)
    return CPGResult(s_o, n_o, s_l, n_l)


def _check_same_setting(oracle: Run, learned: Run, apart_from: tuple[str, ...]) -> None:
    """Raises BadInput for arms that differ in more than their model."""
    for name, (one, other) in oracle.differences(learned, apart_from=apart_from).items():
        raise BadInput(
            f"the arms differ in more than their model: {name} is {one!r} in the oracle arm and {other!r} in the "
            "learned one"
        )


def _gap_of_tables(oracle: EpisodeTable, learned: EpisodeTable) -> CPGResult:
    if len(oracle) == 0 or len(learned) == 0:
        raise BadInput("an arm needs at least one episode, got none")
    for arm in (oracle, learned):
        seeds, times = np.unique(arm["episode_seed"], return_counts=True)
        if (times > 1).any():
            raise BadInput(f"an arm runs every episode seed once, got {int(seeds[times > 1][0])} more than once")
    shared = np.intersect1d(oracle["episode_seed"], learned["episode_seed"])
    if len(shared) > 0 and not len(shared) == len(oracle) == len(learned):
        raise BadInput(
            f"the arms share {len(shared)} seeds of {len(oracle)} and {len(learned)}: "
            "run both on the same seeds, or on none in common"
        )
    if not len(shared):
        counts = [(int(success_mask(arm).sum()), len(arm)) for arm in (oracle, learned)]
        broken = int((learned["error"] != "").sum())
        errors = int((oracle["error"] != "").sum()) + broken
        without = _drop_errors(oracle, learned, errors)
        return CPGResult(*counts[0], *counts[1], errors=errors, without_errors=without, learned_errors=(0, broken))
    one, other = (sort_by_seed(arm) for arm in (oracle, learned))
    kept = (one["error"] == "") & (other["error"] == "")
    errors = int((one["error"] != "").sum() + (other["error"] != "").sum())
    dropped = _paired_result(success_mask(one)[kept], success_mask(other)[kept]) if errors and kept.any() else None
    broken = other["error"] != ""
    learned_errors = int((broken & success_mask(one)).sum()), int((broken & ~success_mask(one)).sum())
    return replace(
        _paired_result(success_mask(one), success_mask(other), errors, dropped), learned_errors=learned_errors
    )


def success_mask(table: EpisodeTable) -> np.ndarray:
    """Whether each episode succeeded [n]. Episodes with an error did not."""
    return table["success"] & (table["error"] == "")


def sort_by_seed(table: EpisodeTable) -> EpisodeTable:
    """The table sorted by episode seed."""
    return table.rows(np.argsort(table["episode_seed"], kind="stable"))


def _drop_errors(oracle: EpisodeTable, learned: EpisodeTable, errors: int) -> CPGResult | None:
    kept = [arm.where(error="") for arm in (oracle, learned)]
    if not errors or not all(len(arm) for arm in kept):
        return None
    (s_o, n_o), (s_l, n_l) = ((int(arm["success"].sum()), len(arm)) for arm in kept)
    return CPGResult(s_o, n_o, s_l, n_l)


def _paired_result(
    oracle: np.ndarray, learned: np.ndarray, errors: int = 0, without_errors: CPGResult | None = None
) -> CPGResult:
    n, pairs = len(oracle), PairedCounts.of(oracle, learned)
    return CPGResult(int(oracle.sum()), n, int(learned.sum()), n, pairs, errors, without_errors)


def _find_table(arm: Any) -> EpisodeTable | None:
    """The episode table of an arm, or None if it has none. Raises BadInput for episodes without a criterion."""
    table = getattr(arm, "table", arm)
    if not isinstance(table, EpisodeTable):
        return None
    if not table["judged"].all():
        raise BadInput("a gap of success needs a criterion of success, and these episodes were run without one")
    return table


def _parse_counts(arm: Any) -> tuple[int, int]:
    try:
        successes, episodes = arm
    except (TypeError, ValueError):
        raise BadInput(f"an arm is (successes, episodes), a table or a run, got {arm!r}") from None
    require_whole(successes, "an arm's successes", at_least=0)
    require_whole(episodes, "an arm's episodes", at_least=0)
    check_counts(successes, episodes)
    return int(successes), int(episodes)


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
    weight_of = {name: one.n_episodes_learned for name, one in results.items()} if weights is None else dict(weights)
    if set(weight_of) != set(results):
        raise BadInput(f"a suite needs one weight for each task ({', '.join(results)}), got {', '.join(weight_of)}")
    shares = finite_numbers([weight_of[name] for name in results], "weights of tasks")
    if shares.min() < 0 or shares.sum() <= 0:
        raise BadInput(f"weights of tasks must not be negative, and not all 0, got {weight_of!r}")
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
