"""Files written whole or not at all."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

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
