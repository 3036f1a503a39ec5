"""What a store holds: cell by cell with its run, or as tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wmel.closed_loop.run import EPISODES_PER_SEED
from wmel.contract.cell import Cell, CellResult, Diagnostic
from wmel.contract.labels import label_columns
from wmel.errors import BadRecord
from wmel.experiments.build import described_parts
from wmel.experiments.folder_store import FolderStore
from wmel.experiments.store import Store, StoredBlock
from wmel.schema import COLUMNS, EpisodeTable, Run, SweepPoint, concatenate_tables, pool_coverage


@dataclass(frozen=True, eq=False)
class LoadedStudy:
    """A study's name, what it is about, and its cells in order."""

    name: str
    about: str
    anytime: bool
    results: list[CellResult]
    damaged: list[str]  # what is wrong with files that were left out
    metrics: tuple[str, ...] = ()
    readings: list[tuple[Diagnostic, dict[str, Any] | None]] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)  # name of a reading that is not there -> why
    verb: Mapping[str, Any] = field(default_factory=lambda: {"name": "study"})  # whose result it is, and how


def load_study(store: Store | Path | str, *, rewards: bool = False) -> LoadedStudy:
    """Every cell of a study with what is stored of it; the rewards of steps only if they are needed."""
    store = FolderStore(Path(store)) if isinstance(store, Path | str) else store
    manifest = store.manifest()
    damaged: list[str] = []
    results = [cell_result(store, cell, damaged, rewards=rewards) for cell in manifest.cells]
    readings = [(cell, store.reading(cell)) for cell in manifest.diagnostics]
    return LoadedStudy(
        manifest.name,
        manifest.about,
        manifest.anytime,
        results,
        damaged,
        manifest.metrics,
        readings,
        {cell.name: store.failure(cell) or "not read yet" for cell, found in readings if found is None},
        manifest.verb,
    )


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
        run = replace(run_of(blocks, cell.episodes, rewards=rewards), parts=described_parts(cell))
    except BadRecord as error:
        damaged.append(f"{cell.name}: {error}")
        return CellResult(cell, None, cell.episodes, str(error))
    missing = cell.episodes - len(run.table)
    return CellResult(cell, run, missing, reason if missing else None)


def run_of(blocks: list[StoredBlock], episodes: int, *, rewards: bool) -> Run:
    """The run that some blocks of one cell are, up to a number of episodes."""
    tables = [block.table(min(block.count, episodes - block.first), rewards=rewards) for block in blocks]
    coverage = pool_coverage([block.coverage for block in blocks])
    return Run(**blocks[0].run, table=concatenate_tables(tables), coverage=coverage)


@dataclass(frozen=True, eq=False)
class StudyTables:
    """polars tables: one row per episode, and one per cell; `key` joins them."""

    episodes: Any
    cells: Any


def study_tables(store: Store) -> StudyTables:
    """The rows and cells of a store as polars tables."""
    from wmel.experiments.tables import cells_frame, episodes_frame

    cells = store.manifest().cells
    return StudyTables(episodes_frame(store, cells), cells_frame(cells))


def rows_of_points(points: Sequence[SweepPoint], arms: Sequence[str] = ()) -> list[tuple[EpisodeTable, dict[str, Any]]]:
    """The rows of runs seed by seed, with the columns of a store that runs know; `arms` are their names."""
    names = [_run_names(point.run) for point in points]
    names = [{**one, "arm": arm} for one, arm in zip(names, arms, strict=True)] if arms else names
    swept = label_columns([point.swept for point in points], {}, [*COLUMNS, *names[0], "seed"])
    return [
        (table, {**named, "seed": seed, **labels})
        for point, named, labels in zip(points, names, swept, strict=True)
        for seed, table in _by_seed(point.run)
    ]


def _run_names(run: Run) -> dict[str, str]:
    environment, model = (run.parts.get(kind) or {} for kind in ("environment", "model"))
    arm = model.get("name") or run.policy_settings.get("model") or run.policy_name
    return {"environment": environment.get("name", run.environment_name), "arm": arm}


def _by_seed(run: Run) -> Iterator[tuple[int, EpisodeTable]]:
    """The rows of each seed, by the published formula of the seeds of episodes."""
    seeds = run.table["episode_seed"] // EPISODES_PER_SEED
    for seed in dict.fromkeys(seeds.tolist()):
        yield seed, run.table.rows(seeds == seed)
