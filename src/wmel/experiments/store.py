"""Stores: what a store holds, does and lacks of a study, and the store in memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from wmel.contract.cell import Cell, Diagnostic
from wmel.experiments.build import ModelPaths
from wmel.experiments.expand import Study
from wmel.experiments.jobs import Block, BlockResult, ReadingJob, ReadingResult
from wmel.files import temporary_folder
from wmel.schema import Coverage, EpisodeTable

MANIFEST = "study.json"


@dataclass(frozen=True, eq=False)
class StoredBlock:
    """A stored block; its rows are read when they are needed."""

    first: int
    count: int
    run: Mapping[str, Any]  # the fields of a Run except its table
    provenance: Mapping[str, Any]
    seconds: float
    coverage: Coverage | None
    rows: Path | EpisodeTable
    trajectories: Path | Mapping[str, Any] | None
    error: str = ""  # of its first episode, if every episode broke

    def table(self, episodes: int, *, rewards: bool) -> EpisodeTable:
        """Its first rows."""
        if isinstance(self.rows, EpisodeTable):
            return self.rows.first(episodes)
        from wmel.experiments.tables import read_rows

        return read_rows(self.rows, episodes, rewards=rewards)


@dataclass(frozen=True)
class Manifest:
    """The name and the cells of a stored study, in order."""

    name: str
    about: str
    anytime: bool
    text: str
    cells: list[Cell]
    diagnostics: list[Diagnostic]
    block: int = 50
    metrics: tuple[str, ...] = ()
    verb: Mapping[str, Any] = field(default_factory=lambda: {"name": "study"})
    looks: tuple[Mapping[str, int], ...] = ()  # episodes of each cell, by key, at each earlier verdict
    path: Path | None = None  # of the study file; None: it was no file, or the store is of an earlier version


class Store(Protocol):
    """What the runner needs of a store."""

    @property
    def models(self) -> Path: ...

    @property
    def moved(self) -> Mapping[str, str]: ...

    @property
    def exists(self) -> bool: ...

    @property
    def is_kept(self) -> bool:
        """Whether rows outlive this process, so that their provenance is recorded."""
        ...

    def locked(self) -> Any: ...

    def write_manifest(self, study: Study, *, anytime: bool, looks: Sequence[Mapping[str, int]] = ()) -> None: ...

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

    def drop_broken(self, cell: Cell) -> list[str]: ...


@dataclass(eq=False)
class MemoryStore:
    """Keeps rows in this process, and checkpoints in a temporary folder for the lifetime of the store."""

    stored: dict[str, list[StoredBlock]] = field(default_factory=dict)
    readings: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: dict[str, list[str]] = field(default_factory=dict)
    written: Manifest | None = None
    paths: ModelPaths | None = None  # of the models of the last block
    moved: Mapping[str, str] = field(default_factory=dict)
    exists: bool = False
    is_kept: bool = False
    _models: Path | None = None

    @property
    def models(self) -> Path:
        """The folder where recipes are trained, created when it is first needed."""
        if self._models is None:
            self._models = temporary_folder("wmel-models-", self)
        return self._models

    def locked(self) -> Any:
        return nullcontext()

    def write_manifest(self, study: Study, *, anytime: bool, looks: Sequence[Mapping[str, int]] = ()) -> None:
        self.written = _manifest(study, anytime=anytime, looks=looks)

    def manifest(self) -> Manifest:
        assert self.written is not None, "the runner writes the manifest first"
        return self.written

    def blocks(self, cell: Cell) -> tuple[list[StoredBlock], list[str]]:
        return sorted(self.stored.get(cell.key, []), key=lambda block: block.first), []

    def write_block(self, block: Block, result: BlockResult) -> None:
        self.paths = block.paths
        self.stored.setdefault(block.cell.key, []).append(
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
        return join_reasons(self.failures.get(cell.key, ()))

    def drop(self, cell: Cell | Diagnostic) -> None:
        self.stored.pop(cell.key, None)
        self.readings.pop(cell.key, None)

    def drop_damaged(self, cell: Cell) -> list[str]:
        return []

    def drop_broken(self, cell: Cell) -> list[str]:
        return []


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
    """Blocks of the episodes of a cell from `first` up to `last` that are not stored.

    Blocks of which every episode broke are missing too: what broke them may have passed. So are, with `trajectories`,
    blocks whose steps are not stored.
    """
    last = cell.episodes if last is None else last
    whole = [one for one in store.blocks(cell)[0] if not one.error]
    stored = [one for one in whole if one.trajectories is not None or not trajectories]
    return [
        Block(cell, start, min(block, until - start), paths, trajectories, store.is_kept)
        for begin, until in missing_ranges(stored, first, last)
        for start in range(begin, until, block)
    ]


def missing_ranges(stored: list[StoredBlock], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Ranges of episodes [begin, until) that no block holds."""
    at = first
    for block in sorted(stored, key=lambda one: one.first):
        if block.first > at:
            yield at, min(block.first, last)
        at = max(at, block.first + block.count)
        if at >= last:
            return
    if at < last:
        yield at, last


def join_reasons(reasons: Iterable[str]) -> str | None:
    """The reasons why a cell could not be run, each once; None if nothing failed."""
    return "; ".join(dict.fromkeys(reasons)) or None


def _manifest(study: Study, *, anytime: bool, looks: Sequence[Mapping[str, int]]) -> Manifest:
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
        tuple(looks),
        study.path,
    )
