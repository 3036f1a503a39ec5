"""Sections and tables of docs/calibration.md as text."""

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import Any

Group = Mapping[tuple[Any, ...], Any]  # arguments -> result
Row = Sequence[object]
WIDTH = 119


def section(title: str, *parts: str | Sequence[str]) -> str:
    """A title, and prose, which is wrapped, or lines, which stay as they are, with an empty line between parts."""
    blocks = (fill(part, WIDTH, break_on_hyphens=False) if isinstance(part, str) else "\n".join(part) for part in parts)
    return "\n\n".join((title, *blocks))


def three(value: float) -> str:
    return f"{value:.3f}"


def table(names: Row, rows: Iterable[Row]) -> list[str]:
    return [table_row(cells) for cells in (names, ["---"] * len(names), *rows)]


def table_row(cells: Row) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"
