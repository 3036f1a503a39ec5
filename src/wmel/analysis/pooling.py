"""Arms of a study pooled over their seeds, and the gap of retrained models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from wmel.analysis.gap import CPGResult, counterfactual_planning_gap
from wmel.analysis.verdict import Verdict, cpg_verdict
from wmel.contract.cell import FLOOR, ORACLE, Cell, CellResult
from wmel.errors import BadInput
from wmel.schema import PLANNING, Coverage, Run, pool_runs
from wmel.stats.estimate import Estimate
from wmel.stats.means import check_equal_shares, paired_t, recipe_interval
from wmel.stats.paired import PairedCounts


@dataclass(frozen=True)
class PooledGap:
    """Two claims from the same episodes; only the second says what another training run would give."""

    these_checkpoints: Estimate  # n counts episodes per arm
    this_training_recipe: Estimate  # n counts seeds


def pooled_gap(seeds: Sequence[tuple[Any, Any]], *, apart_from: tuple[str, ...] = ()) -> PooledGap:
    """Both claims from (oracle, learned) per retrained seed, each arm as `counterfactual_planning_gap` takes it.

    One model run on several sets of start states is one checkpoint: pool its tables before, and give them as one seed.
    """
    try:
        arms = [(oracle, learned) for oracle, learned in seeds]
    except (TypeError, ValueError):
        raise BadInput("pooled seeds are a list with one (oracle, learned) for each retrained seed") from None
    if not arms:
        raise BadInput("a claim about a training recipe needs at least two retrained seeds, got none")
    results = [counterfactual_planning_gap(oracle, learned, apart_from=apart_from) for oracle, learned in arms]
    check_equal_shares([one.n_episodes_oracle for one in results], [one.n_episodes_learned for one in results])
    episodes = _pooled(results).gap
    recipe = recipe_interval([one.raw_gap for one in results], episodes)
    return PooledGap(
        replace(episodes, method=f"these checkpoints: {episodes.method}"),
        replace(recipe, method=f"this training recipe: {recipe.method}"),
    )


def _pooled(results: list[CPGResult]) -> CPGResult:
    """All episodes as one comparison; paired where every seed is."""
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
    """Runs of one planner on the same seeds, by the name of the model; `floor` acts at random."""

    oracle: Run
    learned: Mapping[str, Run]
    floor: Run | None  # None: none was run
    cap: int | None = None  # the most pairs of a run that may stop early; None: it could not
    own_policies: frozenset[str] = frozenset()  # models that act by themselves instead of by the oracle's planner
    data_coverage: Mapping[str, Coverage] = field(default_factory=dict)  # of each model's training data

    @property
    def by_name(self) -> dict[str, Run]:
        floor = {} if self.floor is None else {"random": self.floor}
        return {"oracle": self.oracle, **self.learned, **floor}

    @property
    def coverage(self) -> dict[str, Coverage]:
        """Where each model's training data and each arm went, where an axis is to be covered."""
        seen = {name: run.coverage for name, run in self.by_name.items() if run.coverage is not None}
        return {**self.data_coverage, **seen}

    def gap(self, model: str) -> CPGResult:
        """On the episodes the model ran; where runs stop early each model has its own number."""
        if model not in self._gaps:
            oracle, learned = self.oracle_beside(model), self.learned[model]
            self._gaps[model] = counterfactual_planning_gap(oracle, learned, apart_from=self.may_differ(model))
        return self._gaps[model]

    @cached_property
    def _gaps(self) -> dict[str, CPGResult]:
        """Gaps computed so far."""
        return {}

    def may_differ(self, model: str) -> tuple[str, ...]:
        """Settings in which a model's arm need not be as the oracle's."""
        return PLANNING if model in self.own_policies else ()

    def oracle_beside(self, model: str) -> Run:
        """The oracle's arm on a model's episodes."""
        learned = self.learned[model]
        table = self.oracle.table.of_seeds(learned.table["episode_seed"])
        return replace(self.oracle, seeds=learned.seeds, table=table)

    def verdict(self, model: str) -> Verdict:
        """By the strict rule, or by the anytime rule where the run could stop early."""
        if model not in self._verdicts:
            rule = {} if self.cap is None else {"rule": "anytime", "cap": self.cap}
            self._verdicts[model] = cpg_verdict(self.gap(model), **rule)
        return self._verdicts[model]

    @cached_property
    def _verdicts(self) -> dict[str, Verdict]:
        """Verdicts computed so far."""
        return {}

    def gap_estimate(self, model: str) -> Estimate:
        """The gap with the interval behind its verdict: that of the anytime rule where the run could stop early."""
        return self.gap(model).gap if self.cap is None else self.verdict(model).interval

    def return_gap(self, model: str) -> Estimate:
        """Mean return of the oracle less that of the model, on pairs of whole episodes."""
        one, other = (run.table["return"] for run in (self.oracle_beside(model), self.learned[model]))
        whole = ~(np.isnan(one) | np.isnan(other))
        if whole.sum() < 2:
            return Estimate.undefined("fewer than two pairs of whole episodes: returns need stop = horizon")
        return paired_t(one[whole], other[whole])


@dataclass(frozen=True, eq=False)
class StudySetting:
    """What the arms of one setting share, and what is swept of each of them."""

    name: str
    labels: Mapping[str, Any]
    arm_labels: Mapping[str, Mapping[str, Any]]  # of each arm, beside those of the setting
    bases: Mapping[str, str]  # name of each arm without what is swept, where it is known
    sweeps: Mapping[str, str]  # label -> the setting it is of: `planner.elites`
    parts: Mapping[str, Any]  # by kind


@dataclass(frozen=True, eq=False)
class StudyComparison:
    """One setting of a study: its arms over all seeds, and each retrained model on its own."""

    setting: StudySetting
    arms: Arms
    retrained: Mapping[str, Sequence[tuple[Run, Run]]] = field(default_factory=dict)  # (oracle, learned) by model

    def claims(self, model: str) -> PooledGap | None:
        """Of these checkpoints and of this recipe; None where one was trained, or a run that could stop early."""
        seeds = self.retrained.get(model, ())
        if len(seeds) < 2 or self.arms.cap is not None:
            return None
        return pooled_gap(seeds, apart_from=self.arms.may_differ(model))


@dataclass(frozen=True, eq=False)
class UncomparedArms:
    """Arms that no oracle was run beside, each over all its seeds: policies, and models that act by themselves."""

    setting: StudySetting
    runs: Mapping[str, Run]


@dataclass(frozen=True, eq=False)
class Compared:
    """The comparisons of a study, the arms without one, and what could not be compared."""

    comparisons: list[StudyComparison]
    refused: list[str]
    uncompared: list[UncomparedArms] = field(default_factory=list)


def study_comparisons(results: Sequence[CellResult], *, anytime: bool = False) -> Compared:
    """Every setting with rows, in the order of the cells: compared where its oracle has rows."""
    comparisons, refused, uncompared = [], [], []
    groups = _by(results, lambda cell: cell.setting, floor=False)
    floors = _by(results, lambda cell: cell.task_key, floor=True)
    for group in groups.values():
        beneath = floors.get(group[0].cell.task_key, [])
        try:
            if any(one.cell.arm.name == ORACLE and one.run is not None for one in group):
                comparisons.append(_comparison(group, beneath, refused, anytime=anytime))
            else:
                uncompared += _uncompared(group, beneath)
        except BadInput as error:
            refused.append(f"{_name(group[0])}: {error}")
    reached = {one.cell.task_key for group in groups.values() for one in group if one.run is not None}
    for world, floor in floors.items():
        uncompared += [] if world in reached else _uncompared(floor, [])
    return Compared(comparisons, refused, uncompared)


def _by(results: Sequence[CellResult], key: Callable[[Cell], str], *, floor: bool) -> dict[str, list[CellResult]]:
    """The cells that are a floor, or those that are none, by a key."""
    found: dict[str, list[CellResult]] = {}
    for one in results:
        if (one.cell.arm.name == FLOOR) == floor:
            found.setdefault(key(one.cell), []).append(one)
    return found


def _comparison(
    group: list[CellResult], beneath: list[CellResult], refused: list[str], *, anytime: bool
) -> StudyComparison:
    oracles = {one.cell.seed: one.run for one in group if one.cell.arm.name == ORACLE and one.run is not None}
    learned, retrained = {}, {}
    for arm in dict.fromkeys(one.cell.arm.name for one in group if one.cell.arm.name != ORACLE):
        cells = [one for one in group if one.cell.arm.name == arm and one.run is not None and one.cell.seed in oracles]
        pairs = [_shared(oracles[one.cell.seed], one.run) for one in cells if one.run is not None]
        if not pairs:
            continue
        try:
            learned[arm] = pool_runs([run for _, run in pairs])
        except BadInput as error:
            refused.append(f"{_name(group[0])}: {arm}: {error}")
            continue
        if len({run.policy_settings.get("weights") for _, run in pairs}) == len(pairs) > 1:
            retrained[arm] = pairs
    floors = [one.run for one in beneath if one.run is not None]
    cap = sum(one.cell.episodes for one in group if one.cell.arm.name == ORACLE)
    arms = Arms(
        pool_runs(list(oracles.values())),
        learned,
        pool_runs(floors) if floors else None,
        cap if anytime else None,
        frozenset(one.cell.arm.name for one in group if one.cell.arm.policy is not None),
    )
    return StudyComparison(_setting(group), arms, retrained)


def _uncompared(group: list[CellResult], beneath: list[CellResult]) -> list[UncomparedArms]:
    """The arms of one setting that have rows, and the floor; nothing where there are none."""
    runs: dict[str, list[Run]] = {}
    for one in group:
        if one.run is not None:
            runs.setdefault(one.cell.arm.name, []).append(one.run)
    if not runs:
        return []
    floors = [one.run for one in beneath if one.run is not None]
    found = {arm: pool_runs(seeds) for arm, seeds in runs.items()}
    return [UncomparedArms(_setting(group), {**found, **({FLOOR: pool_runs(floors)} if floors else {})})]


def _setting(group: list[CellResult]) -> StudySetting:
    """What the cells of one setting say of it."""
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
    )


def _shared(oracle: Run, learned: Run) -> tuple[Run, Run]:
    """Both on the episodes both ran."""
    seeds = np.intersect1d(oracle.table["episode_seed"], learned.table["episode_seed"])
    one, other = (replace(run, table=run.table.of_seeds(seeds)) for run in (oracle, learned))
    return one, other


def _name(one: CellResult) -> str:
    return one.cell.setting_name
