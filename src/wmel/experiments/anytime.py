"""Anytime runs: pairs are added round by round until each gap is decided or the maximum is reached."""

from collections.abc import Iterator
from dataclasses import dataclass

from wmel.analysis.pooling import Arms, study_comparisons
from wmel.analysis.verdict import DECIDED
from wmel.contract.cell import FLOOR, ORACLE, Cell
from wmel.experiments.build import ModelPaths
from wmel.experiments.jobs import Block
from wmel.experiments.load import cell_result
from wmel.experiments.store import Store, missing_blocks


@dataclass(frozen=True, eq=False)
class ArmEpisodes:
    """The cells of one arm of a setting, one for each seed. Pairs are dealt to them evenly: seed by seed in turn."""

    cells: list[Cell]

    @property
    def count(self) -> int:
        """The pairs after which every cell is whole."""
        return len(self.cells) * max(cell.episodes for cell in self.cells)

    def missing(self, store: Store, paths: ModelPaths, first: int, last: int, *, trajectories: bool) -> list[Block]:
        """Blocks of the pairs from `first` up to `last` that are not stored."""
        found = []
        for place, cell in enumerate(self.cells):
            begin, until = (min(self._count_pairs(pairs, place), cell.episodes) for pairs in (first, last))
            if begin < until:
                size = until - begin
                found += missing_blocks(store, cell, paths, size, first=begin, last=until, trajectories=trajectories)
        return found

    def _count_pairs(self, pairs: int, place: int) -> int:
        """How many of the first pairs belong to the cell at this place."""
        return (pairs - place + len(self.cells) - 1) // len(self.cells)


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
        compared = study_comparisons([cell_result(store, cell) for cell in cells], anytime=True).comparisons
        decided = {
            (one.setting.key, model) for one in compared for model in one.arms.learned if _is_decided(one.arms, model)
        }
        undecided = {key: arm for key, arm in undecided.items() if key not in decided}


def _arms(cells: list[Cell]) -> dict[tuple[str, str], ArmEpisodes]:
    keys = dict.fromkeys((cell.setting, cell.arm.name) for cell in cells)
    return {key: ArmEpisodes([cell for cell in cells if (cell.setting, cell.arm.name) == key]) for key in keys}


def _is_decided(arms: Arms, model: str) -> bool:
    """Whether a gap is decided after the correction for all gaps of the study."""
    return arms.verdict(model).label in DECIDED
