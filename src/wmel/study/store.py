"""The store of a study: Parquet rows and what must be known of them, block by block, whole or not at all."""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from wmel.contract.cell import Cell
from wmel.errors import BadInput, BadRecord, CannotWrite
from wmel.files import write_whole
from wmel.study.build import Block, Ran, without_rows
from wmel.study.parquet import parquet_bytes, read_rows, row_count
from wmel.study.stored import FORMAT, BlockSaid, ManifestSaid, parsed

MANIFEST = "study.json"


@dataclass(frozen=True, eq=False)
class StoredBlock:
    """A block as it lies in the store; its rows are read when they are asked for."""

    rows: Path
    said: BlockSaid

    @property
    def first(self) -> int:
        return self.said.first

    @property
    def count(self) -> int:
        return self.said.count


@dataclass(frozen=True)
class Store:
    """A folder: `study.json` says what the study is, `cells/` holds rows by cell, `models/` checkpoints by recipe."""

    folder: Path

    @property
    def models(self) -> Path:
        return self.folder / "models"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """While one process works here, another is refused; a killed one leaves no lock behind."""
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
                    f"another wmel is at work on {self.folder}: wait for it, or give another --output"
                ) from None
            yield

    def write_manifest(self, name: str, about: str, text: str, cells: list[Cell], *, anytime: bool) -> None:
        """What the study is: its file and its cells, in order."""
        content = {"format": FORMAT, "name": name, "about": about, "anytime": anytime, "file": text}
        self._write(self.folder / MANIFEST, {**content, "cells": [cell.as_data() for cell in cells]})

    def manifest(self) -> ManifestSaid:
        """What `write_manifest` wrote."""
        return parsed(ManifestSaid, _read(self.folder / MANIFEST), self.folder / MANIFEST)

    @property
    def is_there(self) -> bool:
        return (self.folder / MANIFEST).is_file()

    def write_block(self, block: Block, ran: Ran) -> None:
        """The rows, then what vouches for them: a block with the second file is whole."""
        rows = self._file(block.cell, block.first, block.count, "parquet")
        content = parquet_bytes(ran.run.table)
        try:
            write_whole(rows, lambda path: path.write_bytes(content))
        except OSError as error:
            raise CannotWrite(f"cannot write {rows}: {error.strerror or error}") from error
        said = {
            "cell": block.cell.as_data(),
            "first": block.first,
            "count": block.count,
            "sha256": sha256(content).hexdigest(),
            "run": without_rows(ran.run),
            "provenance": ran.provenance,
            "seconds": round(ran.seconds, 4),
        }
        self._write(rows.with_suffix(".json"), said)

    def write_failure(self, cell: Cell, where: str, reason: str) -> None:
        """Why a cell could not be run, beside its rows."""
        self._write(self._failure(cell), {"cell": cell.as_data(), "where": where, "error": reason})

    def forget_failure(self, cell: Cell) -> None:
        """Before a cell is tried again."""
        self._failure(cell).unlink(missing_ok=True)

    def failure(self, cell: Cell) -> str | None:
        """Why a cell could not be run, if that is known."""
        path = self._failure(cell)
        try:
            return str(json.loads(path.read_text(encoding="utf-8"))["error"]) if path.exists() else None
        except (OSError, ValueError, KeyError, TypeError) as error:
            return f"{path} is damaged: {error!r}"

    def blocks(self, cell: Cell) -> tuple[list[StoredBlock], list[str]]:
        """The whole blocks of a cell in order, and what is wrong with the others."""
        found, wrong = [], []
        for path in sorted(self._cell(cell).glob("[0-9]*.json")):
            try:
                found.append(self._block(cell, path))
            except BadRecord as error:
                wrong.append(str(error))
        return sorted(found, key=lambda block: block.first), wrong

    def _block(self, cell: Cell, path: Path) -> StoredBlock:
        said, rows = parsed(BlockSaid, _read(path), path), path.with_suffix(".parquet")
        if self._file(cell, said.first, said.count, "json") != path or said.cell.cell.key != cell.key:
            raise BadRecord(f"{path} is damaged: it says it is of another cell or of other episodes")
        if sha256(_read(rows)).hexdigest() != said.sha256:
            raise BadRecord(f"{rows} is not what was written: its checksum differs")
        if row_count(rows) != said.count:
            raise BadRecord(f"{rows} does not hold the {said.count} episodes it should")
        return StoredBlock(rows, said)

    def drop(self, cell: Cell) -> None:
        """Forget the rows of a cell, and its damaged files."""
        for path in self._cell(cell).glob("*"):
            path.unlink(missing_ok=True)

    def drop_damaged(self, cell: Cell) -> list[str]:
        """Forget the damaged files of a cell; what was wrong with them."""
        whole, wrong = self.blocks(cell)
        if wrong:
            kept = {path for block in whole for path in (block.rows, block.rows.with_suffix(".json"))}
            for path in set(self._cell(cell).glob("[0-9]*")) - kept:
                path.unlink(missing_ok=True)
        return wrong

    def _cell(self, cell: Cell) -> Path:
        return self.folder / "cells" / cell.key

    def _file(self, cell: Cell, first: int, count: int, suffix: str) -> Path:
        return self._cell(cell) / f"{first:06d}-{count}.{suffix}"

    def _failure(self, cell: Cell) -> Path:
        return self._cell(cell) / "failed.json"

    def _write(self, path: Path, content: dict[str, Any]) -> None:
        text = json.dumps(content, indent=1) + "\n"
        try:
            write_whole(path, lambda draft: draft.write_text(text, encoding="utf-8"))
        except OSError as error:
            raise CannotWrite(f"cannot write {path}: {error.strerror or error}") from error


def rows_of(blocks: list[StoredBlock], episodes: int, *, rewards: bool) -> Any:
    """The table of the first episodes of some blocks of one cell."""
    return read_rows([(block.rows, min(block.count, episodes - block.first)) for block in blocks], rewards=rewards)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadRecord(f"cannot read {path}: {error.strerror or error}") from error
