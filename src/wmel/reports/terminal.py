"""A report as lines for a terminal; who prints them is not decided here."""

import sys
from collections.abc import Iterator, Sequence
from io import StringIO

from rich.console import Console
from rich.table import Table as RichTable

from wmel.reports.document import Block, Document, ListItem, Points, Section, Table, TableColumn, Text

WIDTH_WITHOUT_TERMINAL = 120
NARROWEST = 8  # characters of a name in one line
GAP = 2  # characters between columns
NAMES = ("metric", "name", "package", "setting")
WORDS = (*NAMES, "note", "part", "wanted", "installed", "origin", "what it is", "default", "values", "meaning")


def render_terminal(document: Document, *, is_brief: bool = False) -> list[str]:
    """The answer first, then what all of it shares, then every section that is no detail; figures are left out.

    A brief one has the first section alone, and notices.
    """
    lines = [document.answer, *(text.words for text in document.shared)]
    found = [(section, list(_section(section))) for section in document.sections]
    rendered = [(section, words) for section, words in found if words]
    printed = [words for at, (section, words) in enumerate(rendered) if at == 0 or section.is_notice or not is_brief]
    return [*lines, *(line for words in printed for line in words)]


def table(*headings: str) -> RichTable:
    """A table without lines; words to the left, numbers to the right."""
    rows = RichTable(box=None, padding=(0, GAP, 0, 0), header_style="")
    for heading in headings:
        rows.add_column(heading, justify="left" if heading in WORDS else "right", no_wrap=heading in NAMES)
    return rows


def terminal_width() -> int:
    """Characters of a line: of the terminal, or a fixed number where there is none."""
    return Console().width if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL


def lines_of(rows: RichTable, least: int = 0) -> str:
    """A table as lines: as wide as the terminal, of a fixed width where there is none, and at least so wide."""
    buffer = StringIO()
    width = max(terminal_width(), least)
    plain = dict.fromkeys(("highlight", "markup", "emoji", "force_terminal", "force_jupyter"), False)
    Console(file=buffer, width=width, **plain).print(rows)
    return "\n".join(line.rstrip() for line in buffer.getvalue().rstrip("\n").split("\n"))


def table_lines(table: Table) -> list[str]:
    """A table without its details, and why something in it is n/a; names and headings may be folded, numbers are not.

    Where the numbers alone are wider than the terminal, the lines are too.
    """
    if not table.rows:
        return []
    visible = _without_details(table)
    texts = [[cell.text if cell.short is None else cell.short for cell in row] for row in visible.rows]
    cells = [max(map(len, column)) for column in zip(*texts, strict=True)]
    headed = [max(width, len(column.title)) for width, column in zip(cells, visible.columns, strict=True)]
    least, room = _least(visible.columns, cells), terminal_width() - GAP * len(cells)
    numbers = headed if sum(_least(visible.columns, headed)) <= room else cells
    rows = RichTable(box=None, padding=(0, GAP, 0, 0), header_style="")
    for column, width in zip(visible.columns, numbers, strict=True):
        side = "right" if column.is_number else "left"
        rows.add_column(column.title, justify=side, overflow="fold", width=width if column.is_number else None)
    for row in texts:
        rows.add_row(*row)
    return [lines_of(rows, sum(least) + GAP * len(least)), *visible.notes]


def _without_details(table: Table) -> Table:
    places = [place for place, column in enumerate(table.columns) if not column.is_detail]
    columns = tuple(table.columns[place] for place in places)
    return Table(
        table.caption, columns, tuple(tuple(row[place] for place in places) for row in table.rows), table.names
    )


def _least(columns: Sequence[TableColumn], widths: Sequence[int]) -> list[int]:
    """The widths to which columns may be folded."""
    return [width if column.is_number else min(width, NARROWEST) for column, width in zip(columns, widths, strict=True)]


def _section(section: Section) -> Iterator[str]:
    if section.is_detail or section.is_empty:
        return
    is_captioned = sum(isinstance(block, Table) and bool(block.rows) for block in section.blocks) > 1
    blocks = [line for block in section.blocks for line in _block(block, is_captioned=is_captioned)]
    if blocks:
        yield f"\n{section.title}"
        yield from blocks


def _block(block: Block, *, is_captioned: bool) -> Iterator[str]:
    """The lines of a block; a table that is not the only one of its section has its caption."""
    if isinstance(block, Text):
        yield block.words
    elif isinstance(block, Points):
        yield from (f"- {_point(one)}" for one in block.items)
    elif isinstance(block, Table) and block.rows:
        yield from [block.caption] if is_captioned else []
        yield from table_lines(block)
    elif isinstance(block, Section):
        yield from _section(block)


def _point(point: ListItem) -> str:
    head = " ".join(word for word in (point.name, point.label) if word)
    return f"{head}: {point.words}" if head else point.words
