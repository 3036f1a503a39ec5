"""The screen: its width, its tables, and where files went."""

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

WIDTH_WITHOUT_TERMINAL = 120
NAMES = ("question", "metric", "name", "package", "estimator")
WORDS = (*NAMES, "note", "part", "wanted", "installed", "origin", "what it is")


def console() -> Console:
    """Standard output; a fixed width where there is no terminal to ask."""
    return Console(width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL, highlight=False, markup=False)


def say_where(**files: Path | None) -> None:
    """A line for each file that was written."""
    for what, path in files.items():
        if path is not None:
            print(f"{what}: {path}")


def table(*headings: str) -> Table:
    """A table without lines; words to the left, numbers to the right."""
    rows = Table(box=None, padding=(0, 2, 0, 0), header_style="")
    for heading in headings:
        rows.add_column(heading, justify="left" if heading in WORDS else "right", no_wrap=heading in NAMES)
    return rows
