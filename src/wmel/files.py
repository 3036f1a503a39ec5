"""Files: written atomically, read as TOML, and hashed with a cache that is valid until the file changes."""

import os
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
        twice = "a key is given twice: " if words.startswith(("Cannot overwrite", "Cannot declare")) else ""
        raise BadInput(f"{path} is not TOML: {twice}{words}") from error
