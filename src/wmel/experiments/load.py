"""Reading a store: its cells with their runs, its rows as tables, and the steps of its episodes."""

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from wmel.closed_loop.run import EPISODES_PER_SEED
from wmel.closed_loop.trajectories import write_trajectories
from wmel.contract.cell import Cell, CellResult, Diagnostic, label_columns
from wmel.errors import BadInput, BadRecord, describe_error
from wmel.experiments.build import describe_parts
from wmel.experiments.folder_store import FolderStore
from wmel.experiments.store import Store, StoredBlock
from wmel.files import check_writable, is_stream
from wmel.schema import COLUMNS, Coverage, EpisodeTable, Run, SweepPoint, concatenate_tables, pool_coverage

STEPS_SUFFIX = ".npz"


@dataclass(frozen=True, eq=False)
class LoadedStudy:
    """A stored study: its name and its cells in order, with what is stored of each."""

    name: str
    about: str
    anytime: bool
    results: list[CellResult]
    damaged: list[str]  # problems of files that were left out
    metrics: tuple[str, ...] = ()
    readings: list[tuple[Diagnostic, dict[str, Any] | None]] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)  # name of a missing reading -> why it is missing
    verb: Mapping[str, Any] = field(
        default_factory=lambda: {"name": "study"}
    )  # the verb whose result it is, and its options


def load_study(store: Store | Path | str, *, rewards: bool = False) -> LoadedStudy:
    """The stored study; with the rewards of every step only if `rewards` is set."""
    store = FolderStore(Path(store)) if isinstance(store, Path | str) else store
    manifest = store.manifest()
    damaged: list[str] = []
    results = [
        replace(
            cell_result(store, cell, damaged, rewards=rewards),
            looks=tuple(look.get(cell.key, 0) for look in manifest.looks),
        )
        for cell in manifest.cells
    ]
    readings = [(cell, store.reading(cell)) for cell in manifest.diagnostics]
    return LoadedStudy(
        manifest.name,
        manifest.about,
        manifest.anytime,
        results,
        damaged,
        manifest.metrics,
        readings,
        {cell.name: store.failure(cell) or "not read yet" for cell, reading in readings if reading is None},
        manifest.verb,
    )


def contiguous_blocks(blocks: list[StoredBlock]) -> list[StoredBlock]:
    """The blocks before the first gap, so that the rows are those of the first episodes."""
    found, done = [], 0
    for block in blocks:
        if block.first != done:
            break
        found.append(block)
        done += block.count
    return found


def cell_result(store: Store, cell: Cell, damaged: list[str] | None = None, *, rewards: bool = False) -> CellResult:
    """What is stored of a cell; problems of its files are added to `damaged`."""
    damaged = [] if damaged is None else damaged
    stored, problems = store.blocks(cell)
    damaged += problems
    blocks = [block for block in contiguous_blocks(stored) if block.first < cell.episodes]
    reason = store.failure(cell) or (problems[0] if problems else None)
    if not blocks:
        return CellResult(cell, None, cell.episodes, reason)
    try:
        table = concatenate_tables(
            [block.table(min(block.count, cell.episodes - block.first), rewards=rewards) for block in blocks]
        )
    except BadRecord as error:
        damaged.append(f"{cell.name}: {error}")
        return CellResult(cell, None, cell.episodes, str(error))
    coverages = _coverages(blocks)
    run = Run(**blocks[0].run, table=table, parts=describe_parts(cell), coverage=coverages.get(len(table)))
    missing = cell.episodes - len(table)
    return CellResult(cell, run, missing, reason if missing else None, coverages=coverages)


def _coverages(blocks: Sequence[StoredBlock]) -> dict[int, Coverage | None]:
    """The coverage of the first n episodes, for every n at which a block ends: of a part of a block none is stored."""
    return {
        last.first + last.count: pool_coverage([block.coverage for block in blocks[:count]])
        for count, last in enumerate(blocks, start=1)
    }


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
    """The rows of runs seed by seed, with the columns that identify them; `arms` are the names of the runs."""
    names = [_run_names(point.run) for point in points]
    names = [{**one, "arm": arm} for one, arm in zip(names, arms, strict=True)] if arms else names
    labels = label_columns([point.swept for point in points], {}, [*COLUMNS, *names[0], "seed"])
    return [
        (table, {**named, "seed": seed, **swept})
        for point, named, swept in zip(points, names, labels, strict=True)
        for seed, table in _by_seed(point.run)
    ]


def _run_names(run: Run) -> dict[str, str]:
    environment, model = (run.parts.get(kind) or {} for kind in ("environment", "model"))
    arm = model.get("name") or run.policy_settings.get("model") or run.policy_name
    return {"environment": environment.get("name", run.environment_name), "arm": arm}


def _by_seed(run: Run) -> Iterator[tuple[int, EpisodeTable]]:
    """The rows of each seed, which is part of the seeds of its episodes."""
    seeds = run.table["episode_seed"] // EPISODES_PER_SEED
    for seed in dict.fromkeys(seeds.tolist()):
        yield seed, run.table.rows(seeds == seed)


def check_steps_path(path: Path, cells: Sequence[Cell]) -> None:
    """Raises an error for a path that cannot be written, and for one file for several arms."""
    files = _steps_files(path, cells)
    if _is_one_file(path) and len(files) > 1:
        raise BadInput(f"there are {len(files)} arms to record, each in a file of its own: give a folder, got {path}")
    check_writable(*files)


def write_steps(path: Path, store: Store, cells: Sequence[Cell]) -> Path:
    """Writes the steps of cells to one .npz file, or to a folder with one file per arm of a setting."""
    for file, group in _steps_files(path, cells).items():
        write_trajectories(file, read_steps(store, group))
    return path


def read_steps(store: Store, cells: Sequence[Cell]) -> dict[str, np.ndarray]:
    """The steps of all episodes of cells, padded with NaN after the last step of each episode."""
    parts = []
    for cell in cells:
        for block in store.blocks(cell)[0]:
            steps = block.trajectories
            parts.append(_read_arrays(steps) if isinstance(steps, Path) else dict(steps or {}))
    longest = max(part["actions"].shape[1] for part in parts)

    def pad(array: np.ndarray) -> np.ndarray:
        widths = [(0, 0), (0, longest - array.shape[1]), *[(0, 0)] * (array.ndim - 2)]
        return np.pad(array, widths, constant_values=np.nan)

    names = [name for name in parts[0] if all(name in part for part in parts)]
    return {
        name: np.concatenate([part[name] if part[name].ndim == 1 else pad(part[name]) for part in parts])
        for name in names
    }


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file of stored steps. Raises BadRecord for a damaged file; pickles are never loaded."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: np.asarray(stored[name]) for name in stored.files}
        if arrays["actions"].ndim != 3 or any(len(one) != len(arrays["actions"]) for one in arrays.values()):
            raise ValueError("its arrays do not belong together")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, BadZipFile, zlib.error) as error:
        raise BadRecord(f"{path} is damaged: {describe_error(error)}: remove it and run again") from error
    return arrays


def _is_one_file(path: Path) -> bool:
    return path.suffix == STEPS_SUFFIX or is_stream(path)


def _steps_files(path: Path, cells: Sequence[Cell]) -> dict[Path, list[Cell]]:
    """The cells of each file; a file has the name of its arm, or of arm and setting where arms share a name."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.name.removesuffix(f"/seed-{cell.seed}"), []).append(cell)
    if _is_one_file(path) and len(groups) == 1:
        return {path: list(cells)}
    arms = Counter(group[0].arm.name for group in groups.values())
    files: dict[Path, list[Cell]] = {}
    for name, group in groups.items():
        stem = group[0].arm.name if arms[group[0].arm.name] == 1 else name
        file = path / (re.sub(r"[^\w.=@+-]+", "_", stem)[:100] + STEPS_SUFFIX)
        files[file if file not in files else path / f"{file.stem}-{group[0].key}{STEPS_SUFFIX}"] = group
    return files
