"""Files written whole or not at all, and hashed once while they stay as they are."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from wmel.errors import BadInput, CannotWrite


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Have a draft written beside the target, then move it into place: a reader sees the old file or the new one."""
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
    """Refuse, before any work is done, paths that could not be written, or that would overwrite each other."""
    for path in paths:
        if path.is_dir():
            raise CannotWrite(f"cannot write {path}: it is a folder; name a file in it")
        folder = next(parent for parent in path.resolve().parents if parent.exists())
        try:
            with tempfile.NamedTemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise CannotWrite(f"cannot write {path}: {error.strerror or error}") from error
    if len({path.resolve() for path in paths}) < len(paths):
        raise BadInput(f"each output needs a file of its own, got {', '.join(str(path) for path in paths)}")


def write_atomically(path: Path, text: str) -> None:
    """Write beside the target, then move into its place: a reader sees the old file or the new one.

    A link is followed; a pipe or device, which cannot be replaced, is written to as it is.
    """
    target = path.resolve()
    try:
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")
        else:
            write_whole(target, lambda draft: draft.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise CannotWrite(f"cannot write {path}: {error.strerror or error}") from error


def temporary_folder(prefix: str, owner: object) -> Path:
    """A new folder that is removed when its owner is, or when Python ends."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return folder


Stamp = tuple[int, int, int]  # when a file was written, its size and its place on the disk
HASHES = 4096  # files whose hashes a process remembers


def stamp_of(path: Path) -> Stamp | None:
    """What changes when a file is written again; None where there is no file."""
    try:
        known = path.stat()
    except OSError:
        return None
    return known.st_mtime_ns, known.st_size, known.st_ino


def hash_files(*paths: Path) -> str:
    """The SHA-256 of files one after the other; they are read again only when one has changed."""
    return _hash(paths, tuple(stamp_of(path) for path in paths)).hexdigest()


@lru_cache(HASHES)
def _hash(paths: tuple[Path, ...], stamps: tuple[Stamp | None, ...]) -> Any:
    """The hash goes on from that of the files before the last, so that each is read once."""
    if not paths:
        return sha256()
    known = _hash(paths[:-1], stamps[:-1]).copy()
    known.update(paths[-1].read_bytes())
    return known
