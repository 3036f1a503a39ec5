"""Stores of rows: in memory, and what of a study is missing in one or was made with something else."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from wmel.contract.cell import Cell, Diagnostic, Part
from wmel.errors import WmelError
from wmel.experiments.build import ModelPaths, build_model, is_whole, weights_file_hash
from wmel.experiments.expand import Study, training_of_cell
from wmel.experiments.jobs import Block, BlockResult, ReadingJob, ReadingResult
from wmel.experiments.provenance import code_of, differences
from wmel.files import temporary_folder
from wmel.machine import versions_in_use
from wmel.schema import Coverage, EpisodeTable

MANIFEST = "study.json"


@dataclass(frozen=True, eq=False)
class StoredBlock:
    """A block as it lies in a store; its rows are read when they are needed."""

    first: int
    count: int
    run: Mapping[str, Any]  # all of a Run but its table
    provenance: Mapping[str, Any]
    seconds: float
    coverage: Coverage | None
    rows: Path | EpisodeTable
    trajectories: Path | Mapping[str, Any] | None

    def table(self, episodes: int, *, rewards: bool) -> EpisodeTable:
        """Its first rows."""
        if isinstance(self.rows, EpisodeTable):
            return self.rows.first(episodes)
        from wmel.experiments.tables import read_rows

        return read_rows(self.rows, episodes, rewards=rewards)


@dataclass(frozen=True)
class Manifest:
    """What a study is: its name and its cells, in order."""

    name: str
    about: str
    anytime: bool
    text: str
    cells: list[Cell]
    diagnostics: list[Diagnostic]
    block: int = 50
    metrics: tuple[str, ...] = ()
    verb: Mapping[str, Any] = field(default_factory=lambda: {"name": "study"})


class Store(Protocol):
    """What a run needs of a store."""

    @property
    def models(self) -> Path: ...

    @property
    def moved(self) -> Mapping[str, str]: ...

    @property
    def exists(self) -> bool: ...

    @property
    def is_kept(self) -> bool:
        """Whether rows outlive this process, so that it must be known what they were made with."""
        ...

    def locked(self) -> Any: ...

    def write_manifest(self, study: Study, *, anytime: bool) -> None: ...

    def manifest(self) -> Manifest: ...

    def blocks(self, cell: Cell) -> tuple[list[StoredBlock], list[str]]: ...

    def write_block(self, block: Block, result: BlockResult) -> None: ...

    def reading(self, cell: Diagnostic) -> dict[str, Any] | None: ...

    def write_reading(self, reading: ReadingJob, result: ReadingResult) -> None: ...

    def write_failure(self, cell: Cell | Diagnostic, where: str, reason: str) -> None: ...

    def forget_failure(self, cell: Cell | Diagnostic) -> None: ...

    def failure(self, cell: Cell | Diagnostic) -> str | None: ...

    def drop(self, cell: Cell | Diagnostic) -> None: ...

    def drop_damaged(self, cell: Cell) -> list[str]: ...


@dataclass(eq=False)
class MemoryStore:
    """Rows stay in this process, and checkpoints in a temporary folder as long as this store does."""

    kept: dict[str, list[StoredBlock]] = field(default_factory=dict)
    readings: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: dict[str, list[str]] = field(default_factory=dict)
    known: Manifest | None = None
    paths: ModelPaths | None = None  # of the models that ran
    moved: Mapping[str, str] = field(default_factory=dict)
    exists: bool = False
    is_kept: bool = False
    _models: Path | None = None

    @property
    def models(self) -> Path:
        """Where recipes are trained; the folder is created when it is first needed."""
        if self._models is None:
            self._models = temporary_folder("wmel-models-", self)
        return self._models

    def locked(self) -> Any:
        return nullcontext()

    def write_manifest(self, study: Study, *, anytime: bool) -> None:
        self.known = _manifest(study, anytime=anytime)

    def manifest(self) -> Manifest:
        assert self.known is not None, "a run writes its manifest first"
        return self.known

    def blocks(self, cell: Cell) -> tuple[list[StoredBlock], list[str]]:
        return sorted(self.kept.get(cell.key, []), key=lambda block: block.first), []

    def write_block(self, block: Block, result: BlockResult) -> None:
        self.paths = block.paths
        self.kept.setdefault(block.cell.key, []).append(
            StoredBlock(
                block.first,
                block.count,
                result.run.data,
                result.provenance,
                result.seconds,
                result.coverage,
                result.run.table,
                result.trajectories,
            )
        )

    def reading(self, cell: Diagnostic) -> dict[str, Any] | None:
        return self.readings.get(cell.key)

    def write_reading(self, reading: ReadingJob, result: ReadingResult) -> None:
        self.readings[reading.cell.key] = {**asdict(result), "cell": reading.cell.as_data()}

    def write_failure(self, cell: Cell | Diagnostic, where: str, reason: str) -> None:
        self.failures.setdefault(cell.key, []).append(reason)

    def forget_failure(self, cell: Cell | Diagnostic) -> None:
        self.failures.pop(cell.key, None)

    def failure(self, cell: Cell | Diagnostic) -> str | None:
        return joined_reasons(self.failures.get(cell.key, ()))

    def drop(self, cell: Cell | Diagnostic) -> None:
        self.kept.pop(cell.key, None)
        self.readings.pop(cell.key, None)

    def drop_damaged(self, cell: Cell) -> list[str]:
        return []


def joined_reasons(reasons: Iterable[str]) -> str | None:
    """Why a cell could not be run, each reason once; None where nothing failed."""
    return "; ".join(dict.fromkeys(reasons)) or None


def _manifest(study: Study, *, anytime: bool) -> Manifest:
    return Manifest(
        study.name,
        study.about,
        anytime,
        study.text,
        study.cells,
        study.diagnostics,
        study.block,
        study.metrics,
        study.verb,
    )


@dataclass(frozen=True, eq=False)
class Changed:
    """A cell with rows that were made with something else than is here now."""

    cell: Cell | Diagnostic
    differences: list[str]
    is_whole: bool


def missing_blocks(
    store: Store,
    cell: Cell,
    paths: ModelPaths,
    block: int,
    *,
    first: int = 0,
    last: int | None = None,
    trajectories: bool = False,
) -> list[Block]:
    """Blocks of the episodes of a cell that are not stored, from `first` up to `last`.

    With `trajectories`, those whose steps are not stored are missing too.
    """
    last = cell.episodes if last is None else last
    stored = [one for one in store.blocks(cell)[0] if one.trajectories is not None or not trajectories]
    return [
        Block(cell, start, min(block, until - start), paths, trajectories, store.is_kept)
        for begin, until in _gaps(stored, first, last)
        for start in range(begin, until, block)
    ]


def changed_cells(store: Store, cells: list[Cell], paths: ModelPaths) -> list[Changed]:
    """Cells whose stored rows were made with other versions, code or weights or elsewhere, and what differs."""
    found = []
    for cell in cells:
        stored, _ = store.blocks(cell)
        if not stored:
            continue
        now = _made_now(cell, cell.task.environment, cell.arm.model, paths)
        if any(block.provenance.get("weights_file") is None for block in stored):
            now["weights"] = _weights(cell, paths)
        differ = list(dict.fromkeys(one for block in stored for one in differences(block.provenance, now)))
        if differ:
            found.append(Changed(cell, differ, not list(_gaps(stored, 0, cell.episodes))))
    return found


def changed_readings(store: Store, cells: list[Diagnostic], paths: ModelPaths) -> list[Changed]:
    """The same of readings, which are whole."""
    found = []
    for cell in cells:
        stored = store.reading(cell)
        if stored is not None:
            differ = differences(stored["provenance"], _made_now(cell, cell.environment, cell.model, paths))
            found += [Changed(cell, differ, True)] if differ else []
    return found


def _gaps(stored: list[StoredBlock], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Stretches of episodes [first, last) that no block holds."""
    at = first
    for block in sorted(stored, key=lambda one: one.first):
        if block.first > at:
            yield at, min(block.first, last)
        at = max(at, block.first + block.count)
        if at >= last:
            return
    if at < last:
        yield at, last


def _made_now(
    cell: Cell | Diagnostic, environment: Part, model: Mapping[str, Any] | None, paths: ModelPaths
) -> dict[str, Any]:
    """What rows of a cell would be made with now; the file of weights tells of a model without restoring it."""
    folder = paths.folder_of(environment, model)
    return {
        "versions": versions_in_use(),
        "code": code_of(cell),
        "weights_file": weights_file_hash(folder) if folder is not None and is_whole(folder) else None,
        "device": paths.device_of(environment, model),
    }


def _weights(cell: Cell, paths: ModelPaths) -> str | None:
    """The hash of a trained model as it is now, for rows of an earlier version; None where it is not there to be read.

    That of a checkpoint is a part of its cell's key.
    """
    training, folder = training_of_cell(cell), paths.folder_of(cell.task.environment, cell.arm.model)
    if training is None or folder is None or not (folder / "card.json").exists():
        return None
    try:
        return build_model(cell.task.environment, cell.arm.model, paths).spec.weights
    except WmelError:
        return None  # it is trained again where it is needed
