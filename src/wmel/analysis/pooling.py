"""The comparisons of a study: arms pooled over seeds, and the gap of retrained models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from wmel.analysis.gap import CPGResult, counterfactual_planning_gap
from wmel.analysis.verdict import Correction, Verdict, cpg_verdict
from wmel.contract.cell import FLOOR, ORACLE, Cell, CellResult
from wmel.errors import BadInput
from wmel.schema import PLANNING, Coverage, Run, pool_runs
from wmel.stats.estimate import Estimate
from wmel.stats.means import check_equal_shares, paired_t
from wmel.stats.paired import PairedCounts, holm
from wmel.stats.proportions import recipe_gap


@dataclass(frozen=True)
class PooledGap:
    """Two estimates of the gap from the same episodes. Only the second generalises to another training run."""

    these_checkpoints: Estimate  # n is the number of episodes per arm
    this_training_recipe: Estimate  # n is the number of seeds


def pooled_gap(seeds: Sequence[tuple[Any, Any]], *, apart_from: tuple[str, ...] = ()) -> PooledGap:
    """Both estimates from (oracle, learned) per retrained seed, with arms as in `counterfactual_planning_gap`.

    A model that was run on several sets of start states is one checkpoint: pool its tables first, as one seed.
    """
    try:
        arms = [(oracle, learned) for oracle, learned in seeds]
    except (TypeError, ValueError):
        raise BadInput("pooled seeds are a list with one (oracle, learned) for each retrained seed") from None
    if not arms:
        raise BadInput("a claim about a training recipe needs retrained seeds, got none")
    results = [counterfactual_planning_gap(oracle, learned, apart_from=apart_from) for oracle, learned in arms]
    check_equal_shares([one.n_episodes_oracle for one in results], [one.n_episodes_learned for one in results])
    pooled = _pool_results(results)
    episodes, rates = pooled.gap, [one.learned_success_rate for one in results]
    recipe = recipe_gap(pooled.oracle_successes, pooled.n_episodes_oracle, rates)
    return PooledGap(
        replace(episodes, method=f"these checkpoints: {episodes.method}"),
        replace(recipe, method=f"this training recipe: {recipe.method}") if recipe.is_defined else recipe,
    )


def _pool_results(results: list[CPGResult]) -> CPGResult:
    """All episodes as one comparison. It is paired if every seed is."""
    pairs = [one.pairs for one in results if one.pairs is not None]
    cells = ("both", "oracle_only", "learned_only", "neither")
    summed = (np.sum([getattr(one, cell) for one in pairs]) for cell in cells)
    return CPGResult(
        sum(one.oracle_successes for one in results),
        sum(one.n_episodes_oracle for one in results),
        sum(one.learned_successes for one in results),
        sum(one.n_episodes_learned for one in results),
        PairedCounts(*summed) if len(pairs) == len(results) else None,
    )


@dataclass(frozen=True, eq=False)
class Arms:
    """The runs of one planner on the same seeds, by the name of the model."""

    oracle: Run
    learned: Mapping[str, Run]
    floor: Run | None  # the random policy; None: it was not run
    cap: int | None = None  # the maximum number of pairs of an anytime run; None: the number is fixed
    own_policies: frozenset[str] = frozenset()  # models with their own policy instead of the oracle's planner
    data_coverage: Mapping[str, Coverage] = field(default_factory=dict)  # of each model's training data
    looked: Mapping[str, int] = field(default_factory=dict)  # pairs at the last verdict before pairs were added
    family: Mapping[str, Correction] | None = None  # over all gaps of a study; None: over the models of these arms

    @property
    def by_name(self) -> dict[str, Run]:
        floor = {} if self.floor is None else {"random": self.floor}
        return {"oracle": self.oracle, **self.learned, **floor}

    @property
    def coverage(self) -> dict[str, Coverage]:
        """The coverage of each model's training data and of each arm, in environments with a coverage axis."""
        visited = {name: run.coverage for name, run in self.by_name.items() if run.coverage is not None}
        return {**self.data_coverage, **visited}

    def gap(self, model: str) -> CPGResult:
        """The gap on the episodes of the model. In an anytime run each model has its own number of episodes."""
        if model not in self._gaps:
            oracle, learned = self.oracle_for(model), self.learned[model]
            self._gaps[model] = counterfactual_planning_gap(oracle, learned, apart_from=self.may_differ(model))
        return self._gaps[model]

    @cached_property
    def _gaps(self) -> dict[str, CPGResult]:
        """A cache of the computed gaps."""
        return {}

    def may_differ(self, model: str) -> tuple[str, ...]:
        """The settings in which a model's arm may differ from the oracle's."""
        return PLANNING if model in self.own_policies else ()

    def oracle_for(self, model: str) -> Run:
        """The oracle's arm on the episodes of a model."""
        learned = self.learned[model]
        table = self.oracle.table.of_seeds(learned.table["episode_seed"])
        return replace(self.oracle, seeds=learned.seeds, table=table)

    def p_value(self, model: str) -> Estimate:
        """The p-value of a gap of 0, by the rule of the verdict."""
        return self.gap(model).anytime_p_value if self.is_anytime(model) else self.gap(model).p_value

    def is_anytime(self, model: str) -> bool:
        """Whether the anytime rule judges: the run could stop early, or pairs were added after a first verdict."""
        return self.cap is not None or model in self.looked

    def correction(self, model: str) -> Correction | None:
        """The p-value after Holm's correction; None for a gap that could not be computed."""
        if self.family is not None:
            return self.family.get(model)
        return self._own_family.get(model)

    @cached_property
    def _own_family(self) -> Mapping[str, Correction]:
        return correct_together([self])[0]

    def verdict(self, model: str) -> Verdict:
        """The verdict by the strict rule, or by the anytime rule where it judges, after Holm's correction."""
        if model not in self._verdicts:
            rule = {"rule": "anytime", "cap": self.cap} if self.is_anytime(model) else {}
            verdict = cpg_verdict(self.gap(model), **rule, correction=self.correction(model))
            if model in self.looked:
                added = f"pairs were added after a verdict on {self.looked[model]}, which the anytime rule allows for"
                verdict = replace(verdict, reason=f"{verdict.reason}; {added}")
            self._verdicts[model] = verdict
        return self._verdicts[model]

    @cached_property
    def _verdicts(self) -> dict[str, Verdict]:
        """A cache of the computed verdicts."""
        return {}

    def gap_estimate(self, model: str) -> Estimate:
        """The gap with the interval of its verdict, which is that of the anytime rule where it judges."""
        return self.verdict(model).interval if self.is_anytime(model) else self.gap(model).gap

    def return_gap(self, model: str) -> Estimate:
        """Mean return of the oracle minus that of the model, over pairs of whole episodes."""
        one, other = (run.table["return"] for run in (self.oracle_for(model), self.learned[model]))
        whole = ~(np.isnan(one) | np.isnan(other))
        if whole.sum() < 2:
            return Estimate.undefined("fewer than two pairs of whole episodes: returns need stop = horizon")
        return paired_t(one[whole], other[whole])


def correct_together(families: Sequence[Arms]) -> list[dict[str, Correction]]:
    """Holm's correction over the gaps of several settings, by model. Arms that cannot be compared are left out."""
    found: list[tuple[int, str, float]] = []
    for place, arms in enumerate(families):
        for model in arms.learned:
            try:
                value = arms.p_value(model).value
            except BadInput:
                continue  # the report has the reason
            found += [] if value is None else [(place, model, value)]
    adjusted = holm([value for *_, value in found]).tolist() if found else []
    corrections: list[dict[str, Correction]] = [{} for _ in families]
    for (place, model, _), value in zip(found, adjusted, strict=True):
        corrections[place][model] = Correction(value, len(found))
    return corrections


@dataclass(frozen=True, eq=False)
class StudySetting:
    """The common description of the arms of one setting, and the swept settings of each arm."""

    name: str
    labels: Mapping[str, Any]
    arm_labels: Mapping[str, Mapping[str, Any]]  # the labels of each arm that are not those of the setting
    bases: Mapping[str, str]  # the name of each arm without swept settings, if it is known
    sweeps: Mapping[str, str]  # label -> the swept setting, such as `planner.elites`
    parts: Mapping[str, Any]  # by kind
    key: str = ""  # of the cells of the setting


@dataclass(frozen=True, eq=False)
class StudyComparison:
    """One setting of a study: its arms over all seeds, and the runs of each retrained model."""

    setting: StudySetting
    arms: Arms
    retrained: Mapping[str, Sequence[tuple[Run, Run]]] = field(default_factory=dict)  # (oracle, learned) by model

    def claims(self, model: str) -> PooledGap | None:
        """The gap of the checkpoints and of the recipe. None for fewer than two seeds, or by the anytime rule."""
        seeds = self.retrained.get(model, ())
        if len(seeds) < 2 or self.arms.is_anytime(model):
            return None
        return pooled_gap(seeds, apart_from=self.arms.may_differ(model))


@dataclass(frozen=True, eq=False)
class UncomparedArms:
    """Arms without an oracle, each over all its seeds: policies, and models with their own policy."""

    setting: StudySetting
    runs: Mapping[str, Run]


@dataclass(frozen=True, eq=False)
class StudyComparisons:
    """The comparisons of a study, the arms without an oracle, and the reasons for settings without a comparison."""

    comparisons: list[StudyComparison]
    refused: list[str]
    uncompared: list[UncomparedArms] = field(default_factory=list)


def study_comparisons(results: Sequence[CellResult], *, anytime: bool = False) -> StudyComparisons:
    """The settings that have rows, in the order of the cells. Those whose oracle has rows are compared."""
    comparisons, refused, uncompared = [], [], []
    groups = _group_by(results, lambda cell: cell.setting, floor=False)
    floors = _group_by(results, lambda cell: cell.task_key, floor=True)
    for group in groups.values():
        floor_cells = floors.get(group[0].cell.task_key, [])
        try:
            if any(one.cell.arm.name == ORACLE and one.run is not None for one in group):
                comparisons.append(_compare_setting(group, floor_cells, refused, anytime=anytime))
            else:
                uncompared += _collect_uncompared(group, floor_cells)
        except BadInput as error:
            refused.append(f"{_setting_name(group[0])}: {error}")
    corrections = correct_together([one.arms for one in comparisons])
    comparisons = [
        replace(one, arms=replace(one.arms, family=family))
        for one, family in zip(comparisons, corrections, strict=True)
    ]
    with_rows = {one.cell.task_key for group in groups.values() for one in group if one.run is not None}
    for task, floor in floors.items():
        uncompared += [] if task in with_rows else _collect_uncompared(floor, [])
    return StudyComparisons(comparisons, refused, uncompared)


def _group_by(results: Sequence[CellResult], key: Callable[[Cell], str], *, floor: bool) -> dict[str, list[CellResult]]:
    """The cells of the floor, or all other cells, grouped by a key."""
    found: dict[str, list[CellResult]] = {}
    for one in results:
        if (one.cell.arm.name == FLOOR) == floor:
            found.setdefault(key(one.cell), []).append(one)
    return found


def _compare_setting(
    group: list[CellResult], floor_cells: list[CellResult], refused: list[str], *, anytime: bool
) -> StudyComparison:
    oracles = {one.cell.seed: one.run for one in group if one.cell.arm.name == ORACLE and one.run is not None}
    oracle_looks = {one.cell.seed: one.looks for one in group if one.cell.arm.name == ORACLE}
    learned, retrained, looked = {}, {}, {}
    for arm in dict.fromkeys(one.cell.arm.name for one in group if one.cell.arm.name != ORACLE):
        cells = [one for one in group if one.cell.arm.name == arm and one.run is not None and one.cell.seed in oracles]
        pairs = [_restrict_to_shared(oracles[one.cell.seed], one.run) for one in cells if one.run is not None]
        if not pairs:
            continue
        try:
            learned[arm] = pool_runs([run for _, run in pairs])
        except BadInput as error:
            refused.append(f"{_setting_name(group[0])}: {arm}: {error}")
            continue
        pairs_before = _last_look(cells, oracle_looks, len(learned[arm].table))
        if pairs_before:
            looked[arm] = pairs_before
        if len({run.policy_settings.get("weights") for _, run in pairs}) == len(pairs) > 1:
            retrained[arm] = pairs
    floors = [one.run for one in floor_cells if one.run is not None]
    cap = sum(one.cell.episodes for one in group if one.cell.arm.name == ORACLE)
    arms = Arms(
        pool_runs(list(oracles.values())),
        learned,
        pool_runs(floors) if floors else None,
        cap if anytime else None,
        frozenset(one.cell.arm.name for one in group if one.cell.arm.policy is not None),
        looked=looked,
    )
    return StudyComparison(_describe_setting(group), arms, retrained)


def _last_look(cells: Sequence[CellResult], oracle_looks: Mapping[int, tuple[int, ...]], pairs: int) -> int:
    """How many of the pairs were there at the last verdict before some were added; 0 if none were added."""
    looks = [zip(one.looks, oracle_looks[one.cell.seed], strict=False) for one in cells]
    before = [sum(min(counts) for counts in look) for look in zip(*looks, strict=False)]
    return max((count for count in before if count < pairs), default=0)


def _collect_uncompared(group: list[CellResult], floor_cells: list[CellResult]) -> list[UncomparedArms]:
    """The arms of one setting that have rows, and the floor. Empty if no arm has rows."""
    runs: dict[str, list[Run]] = {}
    for one in group:
        if one.run is not None:
            runs.setdefault(one.cell.arm.name, []).append(one.run)
    if not runs:
        return []
    floors = [one.run for one in floor_cells if one.run is not None]
    found = {arm: pool_runs(seeds) for arm, seeds in runs.items()}
    return [UncomparedArms(_describe_setting(group), {**found, **({FLOOR: pool_runs(floors)} if floors else {})})]


def _describe_setting(group: list[CellResult]) -> StudySetting:
    """The description of a setting, from its cells."""
    cells = [one.cell for one in group]
    oracle = next((cell for cell in cells if cell.arm.name == ORACLE), None)
    shared = cells[0].shared_labels if oracle is None else oracle.labels
    return StudySetting(
        cells[0].setting_name,
        shared,
        {cell.arm.name: {k: v for k, v in cell.labels.items() if k not in shared} for cell in cells},
        {cell.arm.name: cell.arm.base for cell in cells if cell.arm.base is not None},
        {label: setting for cell in cells for label, setting in cell.sweeps.items()},
        cells[0].parts,
        cells[0].setting,
    )


def _restrict_to_shared(oracle: Run, learned: Run) -> tuple[Run, Run]:
    """Both runs, restricted to their common episodes."""
    seeds = np.intersect1d(oracle.table["episode_seed"], learned.table["episode_seed"])
    one, other = (replace(run, table=run.table.of_seeds(seeds)) for run in (oracle, learned))
    return one, other


def _setting_name(one: CellResult) -> str:
    return one.cell.setting_name
