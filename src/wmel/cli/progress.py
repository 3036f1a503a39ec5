"""Progress of long work: a bar on a terminal, plain lines without one."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SECONDS_BETWEEN_LINES = 5.0
ROUNDING = 1e-6  # shares of episodes are added up


@contextmanager
def progress(title: str, total: int, *, quiet: bool, unit: str = "episodes") -> Iterator[Callable[[float], None]]:
    """A function to call with how much, in episodes or another unit, has just been done."""
    if quiet:
        yield lambda finished: None
    elif sys.stderr.isatty():
        with _bar(title, total) as advance:
            yield advance
    else:
        yield _Lines(title, total, unit).advance


@contextmanager
def _bar(title: str, total: int) -> Iterator[Callable[[float], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total)
        yield lambda finished: bar.advance(task, finished)


class _Lines:
    """A line now and then, and one at the end."""

    def __init__(self, title: str, total: int, unit: str):
        self.title, self.total, self.unit, self.done = title, total, unit, 0.0
        self.start = self.last = time.monotonic()

    def advance(self, finished: float) -> None:
        if self.done == self.total:
            return
        self.done += finished
        now = time.monotonic()
        if self.done > self.total - ROUNDING:
            self.done = self.total
            print(f"{self.title}: {self.total}/{self.total} {self.unit}", file=sys.stderr, flush=True)
        elif self.done and now - self.last >= SECONDS_BETWEEN_LINES:
            left = (now - self.start) * (self.total - self.done) / self.done
            done = f"{self.done:.1f}".removesuffix(".0")
            print(
                f"{self.title}: {done}/{self.total} {self.unit}, about {left:.0f} s left",
                file=sys.stderr,
                flush=True,
            )
            self.last = now
