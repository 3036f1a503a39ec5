"""From the cells of a study to comparisons: seeds pooled arm by arm, mismatches refused by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wmel.analysis.arms import Arms
from wmel.analysis.pooled_gap import PooledGap, pooled_gap
from wmel.contract.cell import FLOOR, ORACLE, Cell, CellResult
from wmel.contract.run import Run, pooled
from wmel.errors import BadInput


@dataclass(frozen=True, eq=False)
class StudyComparison:
    """One setting of a study: its arms over all seeds, and each retrained model on its own."""

    name: str
    labels: Mapping[str, Any]  # of the setting
    arm_labels: Mapping[str, Mapping[str, Any]]  # of each model, where it was swept
    arms: Arms
    retrained: Mapping[str, Sequence[tuple[Run, Run]]] = field(default_factory=dict)  # (oracle, learned) by model

    def claims(self, model: str) -> PooledGap | None:
        """Of these checkpoints and of this recipe; None where one was trained, or a run that could stop early."""
        seeds = self.retrained.get(model, ())
        if len(seeds) < 2 or self.arms.cap is not None:
            return None
        return pooled_gap(seeds, apart_from=self.arms.may_differ(model))


@dataclass(frozen=True, eq=False)
class Compared:
    """The comparisons of a study, and what could not be compared."""

    comparisons: list[StudyComparison]
    refused: list[str]


def study_comparisons(results: Sequence[CellResult], *, anytime: bool = False) -> Compared:
    """Every setting whose oracle has rows, in the order of the cells."""
    comparisons, refused = [], []
    groups = _by(results, lambda cell: cell.setting, floor=False)
    floors = _by(results, lambda cell: cell.world, floor=True)
    for group in groups.values():
        beneath = floors.get(group[0].cell.world, [])
        try:
            made = _comparison(group, beneath, refused, anytime=anytime)
        except BadInput as error:
            refused.append(f"{_name(group[0])}: {error}")
            continue
        if made is not None:
            comparisons.append(made)
    return Compared(comparisons, refused)


def _by(results: Sequence[CellResult], key: Callable[[Cell], str], *, floor: bool) -> dict[str, list[CellResult]]:
    """The cells that are a floor, or those that are none, by a key."""
    found: dict[str, list[CellResult]] = {}
    for one in results:
        if (one.cell.arm.name == FLOOR) == floor:
            found.setdefault(key(one.cell), []).append(one)
    return found


def _comparison(
    group: list[CellResult], beneath: list[CellResult], refused: list[str], *, anytime: bool
) -> StudyComparison | None:
    oracles = {one.cell.seed: one.run for one in group if one.cell.arm.name == ORACLE and one.run is not None}
    if not oracles:
        return None
    learned, retrained = {}, {}
    for arm in dict.fromkeys(one.cell.arm.name for one in group if one.cell.arm.name != ORACLE):
        cells = [one for one in group if one.cell.arm.name == arm and one.run is not None and one.cell.seed in oracles]
        pairs = [_shared(oracles[one.cell.seed], one.run) for one in cells if one.run is not None]
        if not pairs:
            continue
        try:
            learned[arm] = pooled([run for _, run in pairs])
        except BadInput as error:
            refused.append(f"{_name(group[0])}: {arm}: {error}")
            continue
        if len({run.policy_settings.get("weights") for _, run in pairs}) == len(pairs) > 1:
            retrained[arm] = pairs
    floors = [one.run for one in beneath if one.run is not None]
    cap = sum(one.cell.episodes for one in group if one.cell.arm.name == ORACLE)
    arms = Arms(
        pooled(list(oracles.values())),
        learned,
        pooled(floors) if floors else None,
        {},
        cap if anytime else None,
        frozenset(one.cell.arm.name for one in group if one.cell.arm.policy is not None),
    )
    own = {one.cell.arm.name: one.cell.labels for one in group}
    shared = own[ORACLE]
    swept = {arm: {key: value for key, value in labels.items() if key not in shared} for arm, labels in own.items()}
    return StudyComparison(_name(group[0]), shared, swept, arms, retrained)


def _shared(oracle: Run, learned: Run) -> tuple[Run, Run]:
    """Both on the episodes both ran."""
    seeds = np.intersect1d(oracle.table["episode_seed"], learned.table["episode_seed"])
    one, other = (replace(run, table=run.table.of_seeds(seeds)) for run in (oracle, learned))
    return one, other


def _name(one: CellResult) -> str:
    return one.cell.setting_name
