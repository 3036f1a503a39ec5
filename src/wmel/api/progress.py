"""Progress of long work: a bar in a terminal and in a notebook, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from wmel.contract.trainer import ProgressListener
from wmel.errors import LONGEST_LINE, printable

SECONDS_BETWEEN_LINES = 5.0
ROUNDING = 1e-6  # shares of episodes are added up


@contextmanager
def progress_listener(title: str) -> Iterator[ProgressListener]:
    """A listener that shows one progress for each stretch of work; its notes are lines on standard error."""
    stack = ExitStack()
    advance: list[Callable[[float], None]] = [_ignore]

    def begin(what: str, total: float, unit: str) -> None:
        stack.close()
        words = printable(f"{title}: {what}" if title else what)
        advance[0] = stack.enter_context(_progress(words, total, unit))

    with stack:
        yield ProgressListener(begin, lambda count: advance[0](count), note)


def note(line: str) -> None:
    """A line on standard error."""
    print(f"wmel: {printable(line, LONGEST_LINE)}", file=sys.stderr, flush=True)


def _ignore(what: object, /) -> None:
    return None


@contextmanager
def _progress(title: str, total: float, unit: str) -> Iterator[Callable[[float], None]]:
    if not sys.stderr.isatty():
        lines = _Lines(title, total, unit, in_place=_is_notebook())
        yield lines.advance
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total)
        yield lambda finished: bar.advance(task, finished)


def _is_notebook() -> bool:
    """Whether this runs in a notebook, where a line can be written over."""
    shell = sys.modules.get("IPython")
    return shell is not None and shell.get_ipython() is not None


class _Lines:
    """A line now and then, and one at the end; in a notebook each takes the place of the last."""

    def __init__(self, title: str, total: float, unit: str, *, in_place: bool = False):
        self.title, self.total, self.unit, self.done = title, total, unit, 0.0
        self.start, self.covered = time.monotonic(), 0
        self.last = self.start
        self.beginning, self.end, self.seconds = ("\r", "", 0.5) if in_place else ("", "\n", SECONDS_BETWEEN_LINES)

    def advance(self, finished: float) -> None:
        if self.done == self.total:
            return
        self.done += finished
        now = time.monotonic()
        if self.done > self.total - ROUNDING:
            self.done = self.total
            self._print(f"{self.title}: {self.total}/{self.total} {self.unit}", end="\n")
        elif self.done and now - self.last >= self.seconds:
            left = (now - self.start) * (self.total - self.done) / self.done
            words = f"{self.title}: {int(self.done + ROUNDING)}/{self.total} {self.unit}, about {left:.0f} s left"
            self._print(words, end=self.end)
            self.last = now

    def _print(self, words: str, *, end: str) -> None:
        covered = words.ljust(self.covered) if self.beginning else words  # a shorter line leaves nothing of the last
        print(f"{self.beginning}{covered}", end=end, file=sys.stderr, flush=True)
        self.covered = len(words)
