"""What a study's folder holds: cell by cell with its run, or as tables."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wmel.contract.cell import Cell, CellResult
from wmel.errors import BadRecord
from wmel.study.store import Store, StoredBlock, rows_of


@dataclass(frozen=True, eq=False)
class LoadedStudy:
    """A study's name, what it is about, and its cells in order."""

    name: str
    about: str
    anytime: bool
    results: list[CellResult]
    damaged: list[str]  # what is wrong with files that were left out


def load_study(folder: Path, *, rewards: bool = False) -> LoadedStudy:
    """Every cell of a study with what is stored of it; the rewards of steps only if asked for."""
    store = Store(folder)
    manifest = store.manifest()
    damaged: list[str] = []
    results = [cell_result(store, said.cell, damaged, rewards=rewards) for said in manifest.cells]
    return LoadedStudy(manifest.name, manifest.about, manifest.anytime, results, damaged)


def leading(blocks: list[StoredBlock]) -> list[StoredBlock]:
    """The blocks up to the first gap, so that the rows are those of the first episodes."""
    kept, done = [], 0
    for block in blocks:
        if block.first != done:
            break
        kept.append(block)
        done += block.count
    return kept


def cell_result(store: Store, cell: Cell, damaged: list[str] | None = None, *, rewards: bool = False) -> CellResult:
    """What is stored of a cell; what is wrong with its files is added to `damaged`."""
    damaged = [] if damaged is None else damaged
    stored, wrong = store.blocks(cell)
    damaged += wrong
    blocks = [block for block in leading(stored) if block.first < cell.episodes]
    reason = store.failure(cell) or (wrong[0] if wrong else None)
    if not blocks:
        return CellResult(cell, None, cell.episodes, reason)
    try:
        table = rows_of(blocks, cell.episodes, rewards=rewards)
        run = blocks[0].said.run.run(table)
    except BadRecord as error:
        damaged.append(f"{blocks[0].rows.parent}: {error}")
        return CellResult(cell, None, cell.episodes, str(error))
    missing = cell.episodes - len(table)
    return CellResult(cell, run, missing, reason if missing else None)


@dataclass(frozen=True, eq=False)
class StudyTables:
    """polars tables: one row per episode, and one per cell; `key` joins them."""

    episodes: Any
    cells: Any

    def to_pandas(self) -> "StudyTables":
        """The same as pandas tables, if pandas is there."""
        import pandas as pd  # pyright: ignore[reportMissingImports]

        episodes, cells = (pd.DataFrame(table.to_dict(as_series=False)) for table in (self.episodes, self.cells))
        return StudyTables(episodes, cells)


def load(folder: Path | str) -> StudyTables:
    """The rows and cells of a study's folder as polars tables."""
    from wmel.study.frames import cells_frame, episodes_frame

    store = Store(Path(folder))
    cells = [said.cell for said in store.manifest().cells]
    return StudyTables(episodes_frame(store, cells), cells_frame(cells))
