"""Progress of long work: a bar on a terminal, plain lines without one."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def progress(title: str, total: int, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of episodes that have just finished."""
    if quiet:
        yield lambda finished: None
    elif sys.stderr.isatty():
        with _bar(title, total) as advance:
            yield advance
    else:
        yield _Lines(title, total).advance


@contextmanager
def _bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total)
        yield lambda finished: bar.advance(task, finished)


class _Lines:
    """A line now and then, and one at the end."""

    def __init__(self, title: str, total: int):
        self.title, self.total, self.done, self.last = title, total, 0, time.monotonic()

    def advance(self, finished: int) -> None:
        self.done += finished
        if self.done >= self.total or time.monotonic() - self.last >= SECONDS_BETWEEN_LINES:
            self.last = time.monotonic()
            print(f"{self.title}: {self.done}/{self.total} episodes", file=sys.stderr, flush=True)
