"""What a store of rows and readings is; `MemoryStore` keeps them in this process, `FolderStore` in a folder."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from wmel.analysis.coverage import Coverage
from wmel.contract.cell import Cell, Diagnostic
from wmel.contract.run import Run
from wmel.experiments.expand import Study
from wmel.experiments.jobs import Block, BlockResult, Reading, ReadingResult
from wmel.schema import EpisodeTable, stacked

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
        from wmel.experiments.parquet import read_rows

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

    def write_reading(self, reading: Reading, result: ReadingResult) -> None: ...

    def write_failure(self, cell: Cell | Diagnostic, where: str, reason: str) -> None: ...

    def forget_failure(self, cell: Cell | Diagnostic) -> None: ...

    def failure(self, cell: Cell | Diagnostic) -> str | None: ...

    def drop(self, cell: Cell | Diagnostic) -> None: ...

    def drop_damaged(self, cell: Cell) -> list[str]: ...


@dataclass(eq=False)
class MemoryStore:
    """Nothing is written."""

    kept: dict[str, list[StoredBlock]] = field(default_factory=dict)
    readings: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    known: Manifest | None = None
    models: Path = Path("models")
    moved: Mapping[str, str] = field(default_factory=dict)
    exists: bool = False
    is_kept: bool = False

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
        self.kept.setdefault(block.cell.key, []).append(
            StoredBlock(
                block.first,
                block.count,
                without_rows(result.run),
                result.provenance,
                result.seconds,
                result.coverage,
                result.run.table,
                result.trajectories,
            )
        )

    def reading(self, cell: Diagnostic) -> dict[str, Any] | None:
        return self.readings.get(cell.key)

    def write_reading(self, reading: Reading, result: ReadingResult) -> None:
        self.readings[reading.cell.key] = {**asdict(result), "cell": reading.cell.as_data()}

    def write_failure(self, cell: Cell | Diagnostic, where: str, reason: str) -> None:
        self.failures[cell.key] = reason

    def forget_failure(self, cell: Cell | Diagnostic) -> None:
        self.failures.pop(cell.key, None)

    def failure(self, cell: Cell | Diagnostic) -> str | None:
        return self.failures.get(cell.key)

    def drop(self, cell: Cell | Diagnostic) -> None:
        self.kept.pop(cell.key, None)
        self.readings.pop(cell.key, None)

    def drop_damaged(self, cell: Cell) -> list[str]:
        return []


def run_of(blocks: list[StoredBlock], episodes: int, *, rewards: bool) -> Run:
    """The run that some blocks of one cell are, up to a number of episodes."""
    tables = [block.table(min(block.count, episodes - block.first), rewards=rewards) for block in blocks]
    return Run(**blocks[0].run, table=stacked(tables))


def without_rows(run: Run) -> dict[str, Any]:
    """What a run says beside its table, as data."""
    known = {name: value for name, value in vars(run).items() if name != "table"}
    plain = {"policy_settings": dict(run.policy_settings), "versions": dict(run.versions)}
    return {**known, **plain}


def _manifest(study: Study, *, anytime: bool) -> Manifest:
    return Manifest(
        study.name, study.about, anytime, study.text, study.cells, study.diagnostics, study.block, study.metrics
    )
