"""Files: written atomically, read as TOML, and hashed with a cache that is valid until the file changes."""

import os
import re
import shutil
import tempfile
import tomllib
import weakref
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from wmel.errors import BadInput, CannotWrite


def replace_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Calls `write` for a temporary file and moves it to the path. A reader sees the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(draft)
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def check_writable(*paths: Path) -> None:
    """Raises an error, before any work, for paths that cannot be written or that are equal."""
    for path in paths:
        if path.is_dir():
            raise CannotWrite(f"cannot write {path}: it is a folder; give a file")
        folder = next(parent for parent in path.resolve().parents if parent.exists())
        try:
            with tempfile.NamedTemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise CannotWrite(f"cannot write {path}: {error.strerror or error}") from error
    if len({path.resolve() for path in paths}) < len(paths):
        raise BadInput(f"outputs must be different files, got {', '.join(str(path) for path in paths)}")


def write_atomically(path: Path, text: str) -> None:
    """Writes a text file. A reader sees the old file or the new one.

    Links are followed. A pipe or device cannot be replaced and is written directly.
    """
    target = path.resolve()
    try:
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")
        else:
            replace_atomically(target, lambda draft: draft.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise CannotWrite(f"cannot write {path}: {error.strerror or error}") from error


def temporary_folder(prefix: str, owner: object) -> Path:
    """Creates a folder that is removed when its owner is garbage-collected or when Python exits."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return folder


Stamp = tuple[int, int, int]  # modification time, size and inode
CACHED_HASHES = 4096


def stamp_of(path: Path) -> Stamp | None:
    """A value that changes when a file is written again. None if there is no file."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def hash_files(*paths: Path) -> str:
    """The SHA-256 of the concatenated files. They are read again only if one has changed."""
    return _hash(paths, tuple(stamp_of(path) for path in paths)).hexdigest()


@lru_cache(CACHED_HASHES)
def _hash(paths: tuple[Path, ...], stamps: tuple[Stamp | None, ...]) -> Any:
    """The hash object of some files. It continues that of all but the last, so that each file is read once."""
    if not paths:
        return sha256()
    digest = _hash(paths[:-1], stamps[:-1]).copy()
    digest.update(paths[-1].read_bytes())
    return digest


HEADER = re.compile(r"\s*\[\[?\s*[A-Za-z_][\w.\- ]*\]\]?\s*(#.*)?")  # of a table
TWICE = ("Cannot overwrite", "Cannot declare", "Duplicate inline table key")  # beginnings of the parser's messages


def read_toml(path: Path) -> tuple[dict[str, Any], str]:
    """The tables of a TOML file, and its text."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {path}: {error}") from error
    try:
        return tomllib.loads(f"{text}\n"), text  # a mistake in the last line has a place too
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        words = " ".join(str(error).split())
        if words.startswith(TWICE):
            words = f"a key is given twice: {_describe_duplicate(text, words) or words}"
        raise BadInput(f"{path} is not TOML: {words}") from error


def _describe_duplicate(text: str, words: str) -> str | None:
    """The table, the key and both values of a key that is given twice, with its line; None if they cannot be read.

    `words` are those of the parser, with the line in which the second value ends.
    """
    lines, place = text.split("\n"), re.search(r"at line (\d+)", words)
    last = min(int(place[1]), len(lines)) if place else 0
    headers = [number for number in range(last) if HEADER.fullmatch(lines[number])]
    if headers and headers[-1] == last - 1:
        return f"{lines[last - 1].strip()} (line {last})"
    start = headers[-1] + 1 if headers else 0
    chunks = ((number, _parse(lines[number:last])) for number in range(last - 1, start - 1, -1))
    number, second = next(((number, one) for number, one in chunks if one), (0, {}))
    if len(second) != 1:
        return None
    ((name, value),) = second.items()
    table = _parse(lines[start:number]) or {}
    values = f"{table[name]!r:.60} and {value!r:.60}" if name in table else f"{value!r:.60}"
    return f"{_describe_table(lines, headers, table)}{name} = {values} (line {number + 1})"


def _describe_table(lines: list[str], headers: list[int], table: dict[str, Any]) -> str:
    """A table by its place in its list and its name: `planners[0] 'cem': `. Empty at the top."""
    if not headers:
        return ""
    named = [lines[number].partition("#")[0].strip() for number in headers]
    place = f"[{named.count(named[-1]) - 1}]" if named[-1].startswith("[[") else ""
    called = f" {table['name']!r}" if isinstance(table.get("name"), str) else ""
    return f"{named[-1].strip('[] ')}{place}{called}: "


def _parse(lines: list[str]) -> dict[str, Any] | None:
    """Lines as TOML; None if they are not."""
    try:
        return tomllib.loads("\n".join([*lines, ""]))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return None
