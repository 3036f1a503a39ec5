"""Files: written atomically, read up to a size, and hashed with a cache that is valid until the file changes."""

import json
import os
import re
import shutil
import stat
import tempfile
import tomllib
import weakref
from collections.abc import Callable, Iterable
from functools import lru_cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO

from wmel.errors import BadInput, CannotWrite
from wmel.values import check_storable

REPORTS = ("report.html", "report.md", "summary.md")
ENDS = 4096  # bytes at both ends of a file that show whether wmel wrote it
OWN = re.compile(  # records, cards, arrays, tables, pages
    rb'"wmel_version"|"weights_sha256"|episode_seed\.npy|\nwmel (\d|source)|utf-8"><meta http-equiv="Content-Sec'
)
STREAMS = ("/dev", "/dev/fd", "/proc/self/fd")  # folders of what other programs hold open
MOST_BYTES = 1 << 24  # of a study, a layout or a card


def write_atomically(path: Path, content: str | bytes | Callable[[BinaryIO], object]) -> None:
    """Writes a file: its content, or what a function writes into it. A reader sees the old file or the new one.

    Links are followed. A pipe or device cannot be replaced and is written directly.
    """
    if isinstance(content, str):
        content = content.encode("utf-8", "backslashreplace")  # a lone surrogate costs no file
    try:
        if is_stream(path):
            whole = BytesIO()  # an archive is not written to a device piece by piece
            _write_content(whole, content)
            with path.open("ab") as stream:
                stream.write(whole.getvalue())
        else:
            _replace(_follow_links(path), content)
    except OSError as error:
        raise CannotWrite(f"cannot write {path}: {error.strerror or error}") from error


def _replace(target: Path, content: bytes | Callable[[BinaryIO], object]) -> None:
    """Writes a new file that nobody can guess, which is no link, and moves it to the target."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name[:40]}.{token_hex(8)}")
    with draft.open("xb") as file:
        try:
            _write_content(file, content)
            os.fsync(file.fileno())
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)


def _write_content(file: BinaryIO, content: bytes | Callable[[BinaryIO], object]) -> None:
    if isinstance(content, bytes):
        file.write(content)
    else:
        content(file)
    file.flush()


def is_stream(path: Path) -> bool:
    """Whether a path is a pipe or a device, /dev/stdout also where it leads to a file: it is never replaced."""
    return str(path.absolute().parent) in STREAMS or (path.exists() and not path.is_file() and not path.is_dir())


def _follow_links(path: Path) -> Path:
    try:
        target = Path(os.path.realpath(path))
    except ValueError as error:  # a NUL
        raise CannotWrite(f"cannot write {path}: {error}") from error
    if any(place.is_symlink() for place in (target, *target.parents)):
        raise CannotWrite(f"cannot write {path}: it is a link that leads to itself")
    return target


def check_writable(*paths: Path) -> None:
    """Raises an error, before any work, for paths that cannot be written or that are equal."""
    targets = [_follow_links(path) for path in paths if not is_stream(path)]
    for path in paths:
        if path.is_dir():
            raise CannotWrite(f"cannot write {path}: it is a folder; give a file")
        if is_stream(path):
            if not os.access(path, os.W_OK):
                raise CannotWrite(f"cannot write {path}: this process may not write to it")
            continue
        folder = next(parent for parent in _follow_links(path).parents if parent.exists())
        try:
            with tempfile.NamedTemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise CannotWrite(f"cannot write {path}: {error.strerror or error}") from error
    if len(set(targets)) < len(targets):
        raise BadInput(f"outputs must be different files, got {', '.join(str(path) for path in paths)}")


def refuse_foreign_files(paths: Iterable[Path]) -> None:
    """Raises BadInput for an output that is a file which wmel did not write, or a folder with such a report."""
    for path in paths:
        for file in [path / name for name in REPORTS] if path.is_dir() else [path]:
            if file.is_file() and not is_stream(file) and not is_own_file(file):
                raise BadInput(f"{file} would be written over, and wmel did not write it: add --force, or give another")


def is_own_file(path: Path) -> bool:
    """Whether wmel wrote a file, by how its records, pages, tables, cards and arrays begin or end; or it is empty."""
    try:
        with path.open("rb") as file:
            ends = file.read(ENDS)
            file.seek(max(0, path.stat().st_size - ENDS))
            ends += file.read(ENDS)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror or error}") from error
    return not ends or OWN.search(ends) is not None


def read_file(path: Path, most: int = MOST_BYTES) -> bytes:
    """The content of a file or pipe. Raises BadInput for a folder, a device and more than `most` bytes."""
    content = bytearray()
    try:
        with path.open("rb") as file:
            kind = os.fstat(file.fileno()).st_mode
            while not stat.S_ISCHR(kind) and len(content) <= most and (part := file.read(1 << 20)):
                content += part
    except (OSError, ValueError) as error:  # a path with a NUL is a ValueError
        raise BadInput(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if stat.S_ISCHR(kind):
        raise BadInput(f"cannot read {path}: it is a device; give a file")
    if len(content) > most:
        raise BadInput(f"cannot read {path}: it has more than {most:,} bytes")
    return bytes(content)


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """The text of a UTF-8 file or pipe, as `read_file` reads it."""
    try:
        return read_file(path, most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"cannot read {path}: it is not UTF-8 text: {error}") from error


def read_json(path: Path) -> Any:
    """The content of a JSON file. Raises BadInput for anything else."""
    text = read_text(path)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is not JSON: {error}") from error
    return _check_content(path, content)


def _check_content(path: Path, content: Any) -> Any:
    try:
        check_storable(content)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error
    return content


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
    text = read_text(path).replace("\r\n", "\n")
    try:
        data = tomllib.loads(f"{text}\n")  # a mistake in the last line has a place too
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        words = " ".join(str(error).split())
        if words.startswith(TWICE):
            words = f"a key is given twice: {_describe_duplicate(text, words) or words}"
        raise BadInput(f"{path} is not TOML: {words}") from error
    return _check_content(path, data), text


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
