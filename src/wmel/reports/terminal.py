"""A report as lines for a terminal; who prints them is not decided here."""

import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from io import StringIO

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable

from wmel.reports.document import Block, Document, ListItem, Points, Section, Table, TableColumn, Text, pieces

WIDTH_WITHOUT_TERMINAL = 120
GAP = 2  # characters between columns
NAMES = ("metric", "name", "package", "setting")
WORDS = (
    *NAMES,
    "note",
    "question",
    "part",
    "wanted",
    "installed",
    "origin",
    "what it is",
    "default",
    "values",
    "meaning",
)


def render_terminal(document: Document, *, is_brief: bool = False, width: int | None = None) -> list[str]:
    """The answer first, then what all of it shares, then every section that is no detail; figures are left out.

    A brief one has the first section alone, and notices. Lines are as wide as the terminal unless a width is given;
    where there is neither, they are not wrapped.
    """
    width = width or _width_of_terminal()
    lines = [
        line for words in (document.answer, *(one.words for one in document.shared)) for line in _prose(words, width)
    ]
    found = [(section, list(_section(section, width))) for section in document.sections]
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
    return _width_of_terminal() or WIDTH_WITHOUT_TERMINAL


def _width_of_terminal() -> int | None:
    return Console().width if sys.stdout.isatty() else None


def lines_of(rows: RichTable) -> str:
    """A table as lines: as wide as the terminal, or of a fixed width where there is none."""
    buffer, width = StringIO(), terminal_width()
    plain = dict.fromkeys(("highlight", "markup", "emoji", "force_terminal", "force_jupyter"), False)
    Console(file=buffer, width=width, **plain).print(rows)
    return "\n".join(line.rstrip() for line in buffer.getvalue().rstrip("\n").split("\n"))


def table_lines(table: Table, width: int | None = None) -> list[str]:
    """A table without its details, and why something in it is n/a.

    Numbers are never folded, and words only at spaces and marks. In a terminal that is too narrow the table goes on
    below, with its names; elsewhere its lines are as wide as they must be.
    """
    if not table.rows:
        return []
    visible, width = _without_details(table), width or _width_of_terminal()
    texts = [[cell.text if cell.short is None else cell.short for cell in row] for row in visible.rows]
    cells = list(zip(*texts, strict=True))
    least = [_least(column, texts) for column, texts in zip(visible.columns, cells, strict=True)]
    widest = [max(map(cell_len, (column.title, *texts))) for column, texts in zip(visible.columns, cells, strict=True)]
    room = width or max(WIDTH_WITHOUT_TERMINAL, sum(least) + GAP * (len(least) - 1))
    gap = 1 if sum(least) + len(least) - 1 <= room < sum(least) + GAP * (len(least) - 1) else GAP
    parts = []
    for places in _groups(least, visible.names, room, gap):
        wanted = [widest[place] for place in places]
        widths = _widen([least[place] for place in places], wanted, room - gap * (len(places) - 1))
        columns = [visible.columns[place] for place in places]
        rows = [[row[place] for place in places] for row in texts]
        parts.append(_laid_out(columns, rows, widths, " " * gap))
    return ["\n\n".join(parts), *(line for note in visible.notes for line in _prose(note, width))]


def _least(column: TableColumn, texts: Sequence[str]) -> int:
    """The width to which a column may be folded."""
    cells = max(map(cell_len, texts)) if column.is_number else max(map(_longest_piece, texts))
    return max(cells, _longest_piece(column.title))


def _longest_piece(text: str) -> int:
    return max(cell_len(piece) for piece in _pieces(text))


def _pieces(text: str) -> list[str]:
    """The text, divided wherever a line may end: behind spaces, and within long words."""
    return [piece for word in re.findall(r"\S+| +", text) for piece in pieces(word)] or [""]


def _groups(least: Sequence[int], names: int, room: int, gap: int) -> list[list[int]]:
    """The columns that stand side by side; each group begins with the names."""
    groups = [list(range(names))]
    for place in range(names, len(least)):
        if len(groups[-1]) > names and sum(least[one] + gap for one in groups[-1]) + least[place] > room:
            groups.append(list(range(names)))
        groups[-1].append(place)
    return groups


def _widen(least: Sequence[int], widest: Sequence[int], room: int) -> list[int]:
    """The widths of columns: what is left goes to those that need the least of it."""
    widths, rest = list(least), room - sum(least)
    for place in sorted(range(len(least)), key=lambda one: widest[one] - least[one]):
        more = max(0, min(widest[place] - least[place], rest))
        widths[place], rest = widths[place] + more, rest - more
    return widths


def _without_details(table: Table) -> Table:
    places = [place for place, column in enumerate(table.columns) if not column.is_detail]
    columns = tuple(table.columns[place] for place in places)
    rows = tuple(tuple(row[place] for place in places) for row in table.rows)
    return Table(table.caption, columns, rows, min(table.names, len(columns)))


def _laid_out(columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], widths: Sequence[int], gap: str) -> str:
    """Lines with numbers to the right and words to the left; headings end on one line, and cells begin on one."""
    found = []
    for texts in ([column.title for column in columns], *rows):
        folded = [_fold(text, width) for text, width in zip(texts, widths, strict=True)]
        height = max(map(len, folded))
        empty = [[""] * (height - len(lines)) for lines in folded]
        padded = [more + lines if not found else lines + more for lines, more in zip(folded, empty, strict=True)]
        for line in zip(*padded, strict=True):
            found.append(gap.join(_align(*one) for one in zip(columns, line, widths, strict=True)).rstrip())
    return "\n".join(found)


def _align(column: TableColumn, text: str, width: int) -> str:
    space = " " * (width - cell_len(text))
    return f"{space}{text}" if column.is_number else f"{text}{space}"


def _fold(text: str, width: int) -> list[str]:
    lines = [""]
    for piece in _pieces(text):
        lines += [""] if lines[-1] and cell_len(f"{lines[-1]}{piece}".rstrip()) > width else []
        lines[-1] += piece if lines[-1] else piece.lstrip()
    return [line.rstrip() for line in lines]


def _prose(words: str, width: int | None, indent: str = "") -> list[str]:
    """Lines of prose, wrapped at spaces where there is a width."""
    if width is None:
        return [words]
    found = [
        textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or [""]
        for line in words.split("\n")
    ]
    return [line for lines in found for line in lines]


def _section(section: Section, width: int | None) -> Iterator[str]:
    if section.is_detail or section.is_empty:
        return
    is_captioned = sum(isinstance(block, Table) and bool(block.rows) for block in section.blocks) > 1
    blocks = [line for block in section.blocks for line in _block(block, width, is_captioned=is_captioned)]
    if blocks:
        yield f"\n{section.title}"
        yield from blocks


def _block(block: Block, width: int | None, *, is_captioned: bool) -> Iterator[str]:
    """The lines of a block; a table that is not the only one of its section has its caption."""
    if isinstance(block, Text):
        yield from _prose(block.words, width)
    elif isinstance(block, Points):
        yield from (line for one in block.items for line in _prose(f"- {_point(one)}", width, "  "))
    elif isinstance(block, Table) and block.rows:
        yield from [block.caption] if is_captioned else []
        yield from table_lines(block, width)
    elif isinstance(block, Section):
        yield from _section(block, width)


def _point(point: ListItem) -> str:
    head = " ".join(word for word in (point.name, point.label) if word)
    return f"{head}: {point.words}" if head else point.words
