"""Runs a case in this process, in an empty folder, and stops what would take long with Ctrl-C."""

import contextlib
import io
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.attack.cases import Case, Outcome

SECONDS = 1.5  # of an accepted input, before it is interrupted
GRACE = 15.0  # seconds within which it must end then


class Stuck(BaseException):
    """An input does not end when it is interrupted."""


def run_here(case: Case, folder: Path, seconds: float = SECONDS) -> Outcome:
    """Runs a case in a folder, which it creates."""
    folder.mkdir(parents=True)
    for name, source in case.folders.items():
        copy = shutil.copytree if source.is_dir() else shutil.copyfile
        copy(source, folder / name)
    for name, content in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).unlink(missing_ok=True) if content is None else (folder / name).write_bytes(content)
    (folder / "loop").symlink_to("loop")
    from wmel.cli.main import main

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors) for errors in ("strict", "backslashreplace"))
    code, escaped, begin = None, "", time.process_time()
    with _kept_state(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        sys.argv = ["wmel", *case.words]
        with _interrupted_after(seconds) as cut:
            try:
                main()
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
            except Stuck:
                escaped = f"{Stuck.__doc__}\n{traceback.format_exc()}"
            except BaseException:
                escaped = traceback.format_exc()
    return Outcome(code, _text(out), _text(err), escaped, time.process_time() - begin, bool(cut))


def _text(stream: io.TextIOWrapper) -> str:
    with contextlib.suppress(ValueError, UnicodeError):
        stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "backslashreplace")  # pyright: ignore[reportAttributeAccessIssue]


@contextlib.contextmanager
def _kept_state(folder: Path) -> Iterator[None]:
    """What the command line changes of a process is as before: the next case must not depend on this one."""
    path, argv, where = list(sys.path), sys.argv, Path.cwd()
    out = os.dup(1)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(where)
        os.dup2(out, 1)
        os.close(out)
        sys.path[:], sys.argv = path, argv
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None)).startswith(str(folder)):
                del sys.modules[name]


@contextlib.contextmanager
def _interrupted_after(seconds: float) -> Iterator[list[Any]]:
    """Ctrl-C after some seconds; the list then has an item."""
    cut: list[Any] = []

    def interrupt(*_: Any) -> None:
        cut.append(True)
        raise KeyboardInterrupt if len(cut) == 1 else Stuck

    before = signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds, GRACE)
    try:
        yield cut
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGALRM, before[1])
