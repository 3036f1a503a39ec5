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
from wmel.study.parquet import parquet_bytes, read_rows

MANIFEST, FORMAT = "study.json", 1


@dataclass(frozen=True, eq=False)
class StoredBlock:
    """A block as it lies in the store; its rows are read when they are asked for."""

    rows: Path
    first: int
    count: int
    said: dict[str, Any]  # cell, run, provenance, seconds

    def check(self) -> None:
        """Refuse rows that are not those that were written."""
        try:
            found = sha256(self.rows.read_bytes()).hexdigest()
        except OSError as error:
            raise BadRecord(f"{self.rows}: {error.strerror or error}") from error
        if found != self.said["sha256"]:
            raise BadRecord(f"{self.rows} is not what was written: its checksum differs")


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

    def manifest(self) -> dict[str, Any]:
        """What `write_manifest` wrote, the cells as cells."""
        path = self.folder / MANIFEST
        content = _read_json(path)
        if content.get("format") != FORMAT:
            raise BadRecord(f"{path} is no study of this wmel: its format is {content.get('format')!r}, not {FORMAT}")
        try:
            known = {name: content[name] for name in ("name", "about", "anytime", "file")}
            return {**known, "cells": [Cell.from_data(cell) for cell in content["cells"]]}
        except (KeyError, TypeError) as error:
            raise BadRecord(f"{path} is no study: a cell lacks or has too much of {error}") from error

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
            return None if not path.exists() else str(_read_json(path).get("error"))
        except BadRecord as error:
            return str(error)

    def blocks(self, cell: Cell) -> tuple[list[StoredBlock], list[str]]:
        """The whole blocks of a cell in order, and what is wrong with the others."""
        found, wrong = [], []
        for path in sorted(self._cell(cell).glob("[0-9]*.json")):
            try:
                said = _read_json(path)
                block = StoredBlock(path.with_suffix(".parquet"), int(said["first"]), int(said["count"]), said)
                block.check()
                found.append(block)
            except BadRecord as error:
                wrong.append(str(error))
            except (KeyError, TypeError, ValueError) as error:
                wrong.append(f"{path} is damaged: {error!r}")
        return sorted(found, key=lambda block: block.first), wrong

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


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadRecord(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise BadRecord(f"{path} is no record of a study")
    return content
