"""A report as lines for a terminal; who prints them is not decided here."""

import sys
from collections.abc import Iterator
from io import StringIO

from rich.console import Console
from rich.table import Table as RichTable

from wmel.reports.document import Block, Document, ListItem, Points, Section, Table, Text

WIDTH_WITHOUT_TERMINAL = 120
NAMES = ("metric", "name", "package", "setting")
WORDS = (*NAMES, "note", "part", "wanted", "installed", "origin", "what it is", "default", "values", "meaning")


def render_terminal(document: Document) -> list[str]:
    """The answer first, then what all of it shares, then every section that is no detail; figures are left out."""
    lines = [document.answer, *(text.words for text in document.shared)]
    for section in document.sections:
        lines += _section(section)
    return lines


def table(*headings: str) -> RichTable:
    """A table without lines; words to the left, numbers to the right."""
    rows = RichTable(box=None, padding=(0, 2, 0, 0), header_style="")
    for heading in headings:
        rows.add_column(heading, justify="left" if heading in WORDS else "right", no_wrap=heading in NAMES)
    return rows


def width() -> int:
    """Characters of a line: of the terminal, or a fixed number where there is none."""
    return Console(width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL).width


def lines_of(rows: RichTable) -> str:
    """A table as lines."""
    buffer = StringIO()
    Console(file=buffer, width=width(), highlight=False, markup=False, force_terminal=False, force_jupyter=False).print(
        rows
    )
    return "\n".join(line.rstrip() for line in buffer.getvalue().rstrip("\n").split("\n"))


def table_lines(shown: Table) -> list[str]:
    """A table without its details, and why something in it is n/a; names may be folded, numbers are not."""
    if not shown.rows:
        return []
    places = [place for place, column in enumerate(shown.columns) if not column.is_detail]
    rows = RichTable(box=None, padding=(0, 2, 0, 0), header_style="")
    for place in places:
        column = shown.columns[place]
        side = "right" if column.is_number else "left"
        rows.add_column(column.title, justify=side, no_wrap=column.is_number, overflow="fold")
    for row in shown.rows:
        rows.add_row(*(row[place].text if row[place].short is None else row[place].short for place in places))
    visible = Table(
        shown.caption,
        tuple(shown.columns[place] for place in places),
        tuple(tuple(row[place] for place in places) for row in shown.rows),
        shown.names,
    )
    return [lines_of(rows), *visible.notes]


def _section(section: Section) -> Iterator[str]:
    if section.is_detail or section.is_empty:
        return
    blocks = [line for block in section.blocks for line in _block(block)]
    if blocks:
        yield f"\n{section.title}"
        yield from blocks


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Text):
        yield block.words
    elif isinstance(block, Points):
        yield from (f"- {_point(one)}" for one in block.items)
    elif isinstance(block, Table):
        yield from table_lines(block)
    elif isinstance(block, Section):
        yield from _section(block)


def _point(point: ListItem) -> str:
    head = " ".join(word for word in (point.name, point.label) if word)
    return f"{head}: {point.words}" if head else point.words
