"""A long study on the screen: one progress for each stretch of it."""

import sys
from contextlib import ExitStack

from wmel.cli.progress import progress
from wmel.study.run import Watch


class ScreenWatch:
    """Shows a progress for training, then one for running."""

    def __init__(self, title: str, *, quiet: bool):
        self.title, self.quiet, self.stack, self.advance = title, quiet, ExitStack(), lambda count: None
        self.watch = Watch(self._begin, self._done, self._say)

    def __enter__(self) -> "ScreenWatch":
        return self

    def __exit__(self, *problem: object) -> None:
        self.stack.close()

    def _begin(self, what: str, total: int, unit: str) -> None:
        self.stack.close()
        self.advance = self.stack.enter_context(progress(f"{self.title}: {what}", total, quiet=self.quiet, unit=unit))

    def _done(self, count: float) -> None:
        self.advance(count)

    def _say(self, line: str) -> None:
        print(f"wmel: {line}", file=sys.stderr, flush=True)
