"""A report as Markdown; nothing in a document is markup. Also paste-ready tables of a scorecard and a horizon sweep."""

import re
import warnings
from collections.abc import Iterator, Sequence

from wmel.analysis.horizon import HorizonSweep
from wmel.analysis.scorecard import Scorecard
from wmel.errors import escape_unprintable
from wmel.reports.cells import bounds, horizon_note, number, scorecard_table
from wmel.reports.document import (
    Block,
    Document,
    Figure,
    ListItem,
    Points,
    Section,
    Table,
    TableCell,
    TableColumn,
    Text,
)

SPECIAL = (
    re.compile(  # what would end a cell, or turn into markup: code, emphasis, HTML, entities, links, a heading's end
        r"[\\`|*~]|<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])|\](?=[(\[:])|(?<= )#(?=#*$)|:(?=//)|(?<=www)\."
    )
)
BLOCK = re.compile(r"^(\d*)([#+-](?=[# -]|$)|>|(?<=\d)[.)](?= |$))")  # a heading, a list, a rule or a quotation


def render_markdown(document: Document) -> str:
    """The whole report; figures are left out."""
    blocks = [f"# {plain(document.title)}", plain(document.answer), *(plain(text.words) for text in document.shared)]
    for section in document.sections:
        blocks += _section(section, 2)
    return "\n\n".join([*blocks, *([plain(document.stamp)] if document.stamp else [])]) + "\n"


def plain(text: str) -> str:
    """The text on one line, as written: nothing in it is markup."""
    return BLOCK.sub(r"\1\\\2", SPECIAL.sub(r"\\\g<0>", escape_unprintable(" ".join(text.split()))))


def to_markdown_scorecard(card: Scorecard) -> str:
    """Deprecated: `Result.to_markdown()` writes a whole report. One line per metric."""
    _warn_deprecated("to_markdown_scorecard")
    table = scorecard_table("", card.estimates)
    return (
        "\n\n".join([f"### Scorecard: {_code(card.policy_name)}", f"{card.episodes} episodes.", *_lines(table)]) + "\n"
    )


def to_markdown_horizon_sweep(sweep: HorizonSweep) -> str:
    """Deprecated: `Result.to_markdown()` writes a whole report. One line per planning horizon, and H* below."""
    _warn_deprecated("to_markdown_horizon_sweep")
    titles = ("success_rate", "success_95ci", "avg_steps", "latency_ms_per_call", "latency_95ci")
    columns = tuple(TableColumn(title) for title in ("plan_horizon", *titles, "compute_per_decision"))
    rows = []
    for horizon, card in zip(sweep.plan_horizons, sweep.scorecards, strict=True):
        success, latency = card["success_rate"], card["average_planning_latency_ms"]
        steps, compute = card["average_steps_to_success"], card["average_compute_per_decision"]
        texts = (number(success), bounds(success), number(steps, 1), number(latency), bounds(latency), number(compute))
        rows.append(tuple(TableCell(text) for text in (str(horizon), *texts)))
    enough = f"Effective horizon H* = {number(sweep.effective_horizon, digits=0)} ({horizon_note(sweep)})."
    blocks = [f"### Horizon sweep: {_code(sweep.policy_name)}", *_lines(Table("", columns, tuple(rows))), enough]
    return "\n\n".join(blocks) + "\n"


def _code(name: str) -> str:
    """A name as code; one that would end the code is text."""
    return plain(name) if "`" in name or "\n" in name else f"`{name}`"


def _warn_deprecated(name: str) -> None:
    words = f"wmel.{name} goes in the next release: Result.to_markdown() writes the report"
    warnings.warn(words, DeprecationWarning, stacklevel=3)


def _section(section: Section, level: int) -> Iterator[str]:
    blocks = [block for block in section.blocks if not isinstance(block, Figure)]
    if Section(section.title, blocks).is_empty:
        return
    yield f"{'#' * level} {plain(section.title)}"
    for block in blocks:
        yield from _section(block, level + 1) if isinstance(block, Section) else _block(block)


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Text):
        yield plain(block.words)
    elif isinstance(block, Points) and block.items:
        yield "\n".join(f"- {_point(one)}" for one in block.items)
    elif isinstance(block, Table):
        yield from _table(block)


def _point(point: ListItem) -> str:
    head = " ".join(word for word in (point.name, point.label) if word)
    return plain(f"{head}: {point.words}" if head else point.words)


def _table(table: Table) -> Iterator[str]:
    """The table, and why something in it is n/a; nothing where it has no rows."""
    if not table.rows:
        return
    yield plain(table.caption)
    yield from _lines(table)
    if table.notes:
        yield "\n".join(f"- {plain(note)}" for note in table.notes)


def _lines(table: Table) -> Iterator[str]:
    """The table alone."""
    heads = [_line([plain(column.title) for column in table.columns])]
    heads.append(_line(["---:" if column.is_number else ":---" for column in table.columns]))
    yield "\n".join(heads + [_line([plain(cell.text) for cell in row]) for row in table.rows])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
