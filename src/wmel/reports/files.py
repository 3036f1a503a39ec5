"""Files are written whole or not at all."""

import os
import tempfile
from pathlib import Path

from wmel.errors import CannotWrite


def check_writable(path: Path) -> None:
    """Refuse, before any work is done, a path that could not be written; missing folders are made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}."):
            pass
    except OSError as error:
        raise CannotWrite(f"cannot write {path}: {error.strerror or error}") from error
    if path.is_dir():
        raise CannotWrite(f"cannot write {path}: it is a folder; name a file in it")


def write_atomically(path: Path, text: str) -> None:
    """Write beside the target, then move into its place: a reader sees the old file or the new one."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with draft.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise CannotWrite(f"cannot write {path}: {error.strerror or error}") from error
