"""A report as data: an answer, sections of text, tables and figures; `html`, `markdown` and `terminal` render it."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

from wmel.errors import requires_package
from wmel.parts import import_object

BREAKS = re.compile(r"(?<=\w[_/=\[])(?=\w)|(?<=\w[-.,])(?=[^\W\d_])")  # where a line may end within a name
LONG_WORD = 12  # characters; shorter words stay whole
NAMED = 4  # more rows than this are counted in a note, not named


def pieces(word: str) -> list[str]:
    """A word, divided behind its marks if it is long: a line may end there."""
    return BREAKS.split(word) if len(word) > LONG_WORD else [word]


class TableCell(NamedTuple):
    """What is shown, the reason where it is n/a, the value behind it, and a shorter text for a terminal."""

    text: str
    reason: str = ""
    value: Any = None
    short: str | None = None


NOT_APPLICABLE = TableCell("-")  # where there is nothing to measure: no reason is due


class TableColumn(NamedTuple):
    """A heading; `is_detail` leaves the column out in a terminal."""

    title: str
    is_number: bool = True
    is_detail: bool = False


@dataclass(frozen=True)
class Table:
    """The first `names` cells of a row say what it is about."""

    caption: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    names: int = 1

    @property
    def notes(self) -> list[str]:
        """Why something is n/a: each reason once, with the places it applies to."""
        places: dict[str, dict[str, list[str]]] = {}
        for row in self.rows:
            for column, cell in zip(self.columns, row, strict=True):
                if cell.reason:
                    name = " / ".join(one.text for one in row[: self.names])
                    places.setdefault(cell.reason, {}).setdefault(column.title, []).append(name)
        return [f"n/a: {reason} ({self._where(columns)})" for reason, columns in places.items()]

    @property
    def without_empty_columns(self) -> "Table":
        """The table without columns that apply to no row, or are n/a in all for one reason: nothing was requested."""
        kept = [place for place in range(len(self.columns)) if not self._is_empty(place)]
        columns = tuple(self.columns[place] for place in kept)
        return Table(self.caption, columns, tuple(tuple(row[place] for place in kept) for row in self.rows), self.names)

    def _is_empty(self, place: int) -> bool:
        reasons = {row[place].reason for row in self.rows if row[place] != NOT_APPLICABLE}
        return place >= self.names and len(reasons) < 2 and "" not in reasons

    def _where(self, columns: Mapping[str, Sequence[str]]) -> str:
        """The rows by name where they are few."""

        def rows(names: Sequence[str]) -> str:
            if len(names) == len(self.rows) > 1:
                return "every row"
            return ", ".join(names) if len(names) <= NAMED else f"{len(names)} rows"

        return "; ".join(f"{title} of {rows(names)}" for title, names in columns.items())


@dataclass(frozen=True)
class Text:
    """A paragraph; `is_quiet` for what is there to be looked up."""

    words: str
    is_quiet: bool = False


class ListItem(NamedTuple):
    """An item of a list: a name, a label (a verdict), and a sentence."""

    words: str
    name: str = ""
    label: str = ""


@dataclass(frozen=True)
class Points:
    """A list."""

    items: Sequence[ListItem]

    @classmethod
    def of(cls, sentences: Sequence[str]) -> "Points":
        """Sentences alone."""
        return cls([ListItem(one) for one in sentences])


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure by plotly, computed when a page shows it; `place` is its id there, the legend stands above it."""

    place: str
    title: str
    make: Callable[[], Any]
    legend: str = ""


@dataclass(frozen=True)
class Section:
    """A heading and what is below it.

    A folded one is closed on a page. A terminal leaves details out, and shows a notice whatever else it leaves out.
    """

    title: str
    blocks: Sequence["Block"]
    is_folded: bool = False
    is_detail: bool = False
    is_notice: bool = False

    @property
    def is_empty(self) -> bool:
        return not any(_has_content(block) for block in self.blocks)


Block = Text | Points | Table | Figure | Section


@dataclass(frozen=True)
class Document:
    """A whole report: the answer in one sentence comes first, then what all of it shares."""

    title: str
    answer: str
    shared: Sequence[Text] = ()
    sections: Sequence[Section] = ()
    stamp: str = ""

    @property
    def figures(self) -> list[Figure]:
        """Every figure, in order."""
        return [block for section in self.sections for block in _blocks_within(section) if isinstance(block, Figure)]


def text_of(words: str) -> list[Text]:
    """A paragraph for each part between empty lines."""
    parts = [" ".join(part.split()) for part in words.replace("\r\n", "\n").split("\n\n")]
    return [Text(part) for part in parts if part]


def plotly_needed() -> AbstractContextManager[None]:
    """Where files that draw are imported: without plotly the extra to install is named."""
    return requires_package("plotly", "the HTML report needs plotly: install wmel[report]")


def draw_figure(place: str, *arguments: Any) -> Any:
    """The figure that a function of `wmel.reports` returns; callables among its arguments are called first."""
    with plotly_needed():
        draw = import_object(f"wmel.reports.{place}")
    return draw(*(one() if callable(one) else one for one in arguments))


def _blocks_within(section: Section) -> Iterator[Block]:
    for block in section.blocks:
        yield block
        if isinstance(block, Section):
            yield from _blocks_within(block)


def _has_content(block: Block) -> bool:
    if isinstance(block, Section):
        return not block.is_empty
    if isinstance(block, Table):
        return bool(block.rows)
    return bool(block.items) if isinstance(block, Points) else True
