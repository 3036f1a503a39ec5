"""The store in a folder: Parquet rows with a JSON file beside them, block by block, written whole or not at all."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from wmel.closed_loop.trajectories import write_trajectories
from wmel.contract.cell import Cell, Diagnostic
from wmel.errors import BadInput, BadRecord, CannotWrite
from wmel.experiments.build import ModelPaths
from wmel.experiments.expand import Study, trainings_of
from wmel.experiments.jobs import Block, BlockResult, ReadingJob, ReadingResult, block_provenance
from wmel.experiments.store import MANIFEST, Manifest, MemoryStore, Store, StoredBlock, join_reasons
from wmel.experiments.store_schema import (
    FORMAT,
    StoredFile,
    StoredManifest,
    cell_from_stored,
    diagnostic_from_stored,
    parse_stored,
)
from wmel.files import stamp_of, write_atomically
from wmel.schema import Coverage, Run


@dataclass(eq=False)
class FolderStore:
    """A folder: `study.json` holds the manifest, `cells/` the rows by cell, `models/` the checkpoints by recipe."""

    folder: Path
    is_scratch: bool = False  # whether it is removed after a record is written
    _verified: dict[Path, tuple[Any, StoredBlock]] = field(default_factory=dict)  # so that each block is verified once
    _moved: dict[str, str] | None = None
    _unwritten: MemoryStore = field(default_factory=MemoryStore)  # what could not be written, for this process

    @property
    def is_kept(self) -> bool:
        return True

    @property
    def models(self) -> Path:
        return self.folder / "models"

    @property
    def exists(self) -> bool:
        return (self.folder / MANIFEST).is_file()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Locks the folder: a second process is refused. A killed process leaves no lock behind."""
        path = self.folder / ".lock"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = path.open("a")
        except OSError as error:
            raise CannotWrite(f"cannot write the study {self.folder}: {error.strerror or error}") from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise BadInput(
                    f"another process is running in {self.folder}: wait for it, or give another --output"
                ) from None
            yield

    @property
    def moved(self) -> Mapping[str, str]:
        """Folders of cells and models that an earlier version stored under another key: key -> folder."""
        if self._moved is None:
            self._moved = dict(self._read_manifest().moved) if self.exists else {}
        return self._moved

    def write_manifest(
        self, study: Study | Manifest, *, anytime: bool, looks: Sequence[Mapping[str, int]] = ()
    ) -> None:
        """Writes the file and the cells of the study, in order."""
        try:
            moved = self.moved
        except BadRecord:
            moved = {}
        content = {
            "format": FORMAT,
            "name": study.name,
            "about": study.about,
            "anytime": anytime,
            "file": study.text,
            "block": study.block,
            "metrics": list(study.metrics),
            "cells": [cell.as_data() for cell in study.cells],
            "diagnostics": [cell.as_data() for cell in study.diagnostics],
            "moved": dict(moved),
            "looks": [dict(look) for look in looks],
            "verb": dict(study.verb),
            "path": None if study.path is None else self._relative(study.path),
        }
        self._write(self.folder / MANIFEST, content)

    def manifest(self) -> Manifest:
        """The manifest that `write_manifest` wrote."""
        stored, path = self._read_manifest(), self.folder / MANIFEST
        return Manifest(
            stored.name,
            stored.about,
            stored.anytime,
            stored.file,
            [cell_from_stored(one, path) for one in stored.cells],
            [diagnostic_from_stored(one, path) for one in stored.diagnostics],
            stored.block,
            tuple(stored.metrics),
            stored.verb,
            tuple(stored.looks),
            None if stored.path is None else self.folder / stored.path,
        )

    def _relative(self, path: Path) -> str:
        """A path from the folder of the store, so that both can be moved together."""
        return Path(os.path.relpath(os.path.realpath(path), os.path.realpath(self.folder))).as_posix()

    def copy_rows(self, store: Store) -> None:
        """Copies the rows, readings and checkpoints of another store into this one."""
        with self.locked():
            if self.exists and not _same_study(self.manifest(), store.manifest()):
                raise BadInput(f"{self.folder} holds another result ({MANIFEST}): give another folder")
            copy_models(store, self)
            if isinstance(store, FolderStore):
                shutil.copytree(store.folder / "cells", self.folder / "cells", dirs_exist_ok=True)
                shutil.copyfile(store.folder / MANIFEST, self.folder / MANIFEST)
                return
            assert isinstance(store, MemoryStore)
            manifest, paths = store.manifest(), store.paths or ModelPaths(Path(), Path())
            self.write_manifest(manifest, anytime=manifest.anytime, looks=manifest.looks)
            for cell in manifest.cells:
                for block in store.blocks(cell)[0]:
                    run = Run(**block.run, table=block.table(block.count, rewards=True))
                    job = Block(cell, block.first, block.count, paths)
                    provenance = dict(block.provenance) or block_provenance(job, run)
                    steps = dict(block.trajectories) if isinstance(block.trajectories, Mapping) else None
                    self.write_block(job, BlockResult(run, provenance, block.seconds, block.coverage, steps))
            for key, reading in store.readings.items():
                self._write(self.folder / "cells" / key / "reading.json", reading)

    def _read_manifest(self) -> StoredManifest:
        path = self.folder / MANIFEST
        return parse_stored(StoredManifest, _read(path), path)

    def write_block(self, block: Block, result: BlockResult) -> None:
        """Writes a block; one that cannot be written is held in memory, so that this run has it in its result."""
        try:
            self._write_block(block, result)
        except CannotWrite:
            self._unwritten.write_block(block, result)
            raise

    def _write_block(self, block: Block, result: BlockResult) -> None:
        """Writes the rows, then the file that describes them; a block is whole if it has the second file."""
        from wmel.experiments.tables import parquet_bytes  # polars is needed only here

        rows = self._file(block.cell, block.first, block.count, "parquet")
        content = parquet_bytes(result.run.table)
        write_atomically(rows, content)
        if result.trajectories is not None:
            write_trajectories(rows.with_suffix(".npz"), result.trajectories)
        self._write(
            rows.with_suffix(".json"),
            {
                "cell": block.cell.as_data(),
                "first": block.first,
                "count": block.count,
                "sha256": sha256(content).hexdigest(),
                "run": result.run.data,
                "provenance": result.provenance,
                "coverage": None if result.coverage is None else asdict(result.coverage),
                "seconds": round(result.seconds, 4),
            },
        )

    def reading(self, cell: Diagnostic) -> dict[str, Any] | None:
        """The stored reading of a cell; None if there is none or its file is damaged."""
        try:
            found = json.loads((self._cell(cell) / "reading.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return self._unwritten.reading(cell)
        return found if isinstance(found, dict) and found.get("data") is not None else None

    def write_reading(self, reading: ReadingJob, result: ReadingResult) -> None:
        content = {**asdict(result), "cell": reading.cell.as_data()}
        try:
            self._write(self._cell(reading.cell) / "reading.json", content)
        except CannotWrite:
            self._unwritten.write_reading(reading, result)
            raise

    def write_failure(self, cell: Cell | Diagnostic, where: str, reason: str) -> None:
        """Adds the reason why a part of a cell could not be run."""
        failures = [*self._failures(self._failure(cell)), {"where": where, "error": reason}]
        self._write(self._failure(cell), {"cell": cell.as_data(), "failures": failures})

    def forget_failure(self, cell: Cell | Diagnostic) -> None:
        """Removes the failures of a cell before it is tried again."""
        self._failure(cell).unlink(missing_ok=True)

    def failure(self, cell: Cell | Diagnostic) -> str | None:
        """Why a cell could not be run, if that is known."""
        return join_reasons(one["error"] for one in self._failures(self._failure(cell)))

    @staticmethod
    def _failures(path: Path) -> list[dict[str, str]]:
        """The failures in a file, each with its place and error; a file of an earlier version holds one."""
        if not path.exists():
            return []
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            failures = stored.get("failures", [stored])
            return [{"where": str(one["where"]), "error": str(one["error"])} for one in failures]
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            return [{"where": str(path), "error": f"{path} is damaged: {error!r}"}]

    def blocks(self, cell: Cell) -> tuple[list[StoredBlock], list[str]]:
        """The whole blocks of a cell in order, and the problems of damaged ones."""
        found, problems = self._unwritten.blocks(cell)
        for path in sorted(self._cell(cell).glob("[0-9]*.json")):
            try:
                found.append(self._block(cell, path))
            except BadRecord as error:
                problems.append(str(error))
        return sorted(found, key=lambda block: block.first), problems

    def _block(self, cell: Cell, path: Path) -> StoredBlock:
        rows = path.with_suffix(".parquet")
        stamps = stamp_of(path), stamp_of(rows)
        known = self._verified.get(path)
        if known is None or known[0] != stamps:
            known = self._verified[path] = stamps, self._verify(cell, path, rows)
        return known[1]

    def _verify(self, cell: Cell, path: Path, rows: Path) -> StoredBlock:
        from wmel.experiments.tables import check_stored_rows, common_error  # polars is needed only here

        stored = parse_stored(StoredFile, _read(path), path)
        written = cell_from_stored(stored.cell, path)
        if self._file(cell, stored.first, stored.count, "json") != path or written.key != cell.key:
            raise BadRecord(f"{path} is damaged: it belongs to another cell or to other episodes")
        if sha256(_read(rows)).hexdigest() != stored.sha256:
            raise BadRecord(f"{rows} is damaged: its checksum differs")
        check_stored_rows(rows, stored.count)
        steps = rows.with_suffix(".npz")
        return StoredBlock(
            stored.first,
            stored.count,
            stored.run_data(written),
            stored.provenance.model_dump(),
            stored.seconds,
            None if stored.coverage is None else Coverage(**stored.coverage),
            rows,
            steps if steps.exists() else None,
            common_error(rows),
        )

    def drop(self, cell: Cell | Diagnostic) -> None:
        """Removes all files of a cell."""
        for path in self._cell(cell).glob("*"):
            path.unlink(missing_ok=True)

    def drop_damaged(self, cell: Cell) -> list[str]:
        """Removes the damaged files of a cell; returns their problems."""
        whole, problems = self.blocks(cell)
        if problems:
            self._keep_blocks(cell, whole)
        return problems

    def drop_broken(self, cell: Cell) -> list[str]:
        """Removes the blocks of which every episode broke; returns their errors."""
        blocks, _ = self.blocks(cell)
        errors = [block.error for block in blocks if block.error]
        if errors:
            self._keep_blocks(cell, [block for block in blocks if not block.error])
        return errors

    def _keep_blocks(self, cell: Cell, blocks: Sequence[StoredBlock]) -> None:
        """Removes the files of all other blocks of a cell."""
        stems = {block.rows.stem for block in blocks if isinstance(block.rows, Path)}
        for path in self._cell(cell).glob("[0-9]*"):
            if path.stem not in stems:
                path.unlink(missing_ok=True)

    def _cell(self, cell: Cell | Diagnostic) -> Path:
        return self.folder / "cells" / self.moved.get(cell.key, cell.key)

    def _file(self, cell: Cell, first: int, count: int, suffix: str) -> Path:
        return self._cell(cell) / f"{first:06d}-{count}.{suffix}"

    def _failure(self, cell: Cell | Diagnostic) -> Path:
        return self._cell(cell) / "failed.json"

    def _write(self, path: Path, content: Mapping[str, Any]) -> None:
        write_atomically(path, json.dumps(content, indent=1) + "\n")


def copy_models(source: Store, target: Store) -> None:
    """Copies the checkpoints of the recipes of a store."""
    cells: list[Any] = [*source.manifest().cells, *source.manifest().diagnostics]
    for key in trainings_of(cells):
        name = source.moved.get(key, key)
        if (source.models / name).is_dir():
            shutil.copytree(source.models / name, target.models / name, dirs_exist_ok=True)


def _same_study(one: Manifest, other: Manifest) -> bool:
    """Whether two stores have the same cells and the same verb."""
    keys = ({cell.key for cell in (*some.cells, *some.diagnostics)} for some in (one, other))
    return one.verb == other.verb and next(keys) == next(keys)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadRecord(f"cannot read {path}: {error.strerror or error}") from error
