"""Anytime runs: pairs are added round by round until each gap is decided or the maximum is reached."""

from collections.abc import Iterator
from dataclasses import dataclass

from wmel.analysis.pooling import study_comparisons
from wmel.analysis.verdict import DECIDED
from wmel.contract.cell import FLOOR, ORACLE, Cell, CellResult
from wmel.experiments.build import ModelPaths
from wmel.experiments.jobs import Block
from wmel.experiments.load import cell_result
from wmel.experiments.store import Store, missing_blocks


@dataclass(frozen=True, eq=False)
class ArmEpisodes:
    """The cells of one arm of a setting, seed by seed; their episodes are numbered consecutively."""

    cells: list[Cell]

    @property
    def count(self) -> int:
        return sum(cell.episodes for cell in self.cells)

    def missing(self, store: Store, paths: ModelPaths, first: int, last: int, *, trajectories: bool) -> list[Block]:
        """Blocks of the episodes from `first` up to `last` that are not stored."""
        found, before = [], 0
        for cell in self.cells:
            begin, until = max(0, first - before), min(cell.episodes, last - before)
            if begin < until:
                size = until - begin
                found += missing_blocks(store, cell, paths, size, first=begin, last=until, trajectories=trajectories)
            before += cell.episodes
        return found


def anytime_rounds(
    store: Store, cells: list[Cell], paths: ModelPaths, size: int, *, trajectories: bool = False
) -> Iterator[list[Block]]:
    """The blocks of each round in turn; a round is built when the blocks of the last one are stored."""
    undecided = _arms(cells)
    longest = max((arm.count for arm in undecided.values()), default=0)
    for first in range(0, longest, size):
        settings = {setting for setting, name in undecided if name not in (ORACLE, FLOOR)}
        worlds = {cell.task_key for cell in cells if cell.setting in settings}
        needed = [
            arm
            for (setting, name), arm in undecided.items()
            if setting in settings or (name == FLOOR and arm.cells[0].task_key in worlds)
        ]
        if not needed:
            return
        until = first + size
        yield [block for arm in needed for block in arm.missing(store, paths, first, until, trajectories=trajectories)]
        results = [cell_result(store, cell) for arm in needed for cell in arm.cells]
        undecided = {key: arm for key, arm in undecided.items() if not _is_decided(key, results)}


def _arms(cells: list[Cell]) -> dict[tuple[str, str], ArmEpisodes]:
    keys = dict.fromkeys((cell.setting, cell.arm.name) for cell in cells)
    return {key: ArmEpisodes([cell for cell in cells if (cell.setting, cell.arm.name) == key]) for key in keys}


def _is_decided(key: tuple[str, str], results: list[CellResult]) -> bool:
    setting, name = key
    if name in (ORACLE, FLOOR):
        return False
    pair = [one for one in results if one.cell.setting == setting and one.cell.arm.name in (name, ORACLE)]
    compared = study_comparisons(pair, anytime=True).comparisons
    return bool(compared) and name in compared[0].arms.learned and compared[0].arms.verdict(name).label in DECIDED
