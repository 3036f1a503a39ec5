"""Tables and lists of a Markdown file; nothing a record says is markup."""

import re
from collections.abc import Sequence

from wmel.reports.study_cells import StudyTable

SPECIAL = re.compile(r"[\\`|*]|<(?=[A-Za-z/!?])|__")  # what would end a cell, or turn into markup


def markdown_table(table: StudyTable) -> list[str]:
    """The table, and why something in it is n/a; nothing where it has no rows."""
    if not table.rows:
        return []
    heads = [_line([plain(column.title) for column in table.columns])]
    heads.append(_line(["---:" if column.is_number else ":---" for column in table.columns]))
    lines = [_line([plain(cell.text) for cell in row]) for row in table.rows]
    return ["\n".join(heads + lines), *([markdown_list(table.notes)] if table.notes else [])]


def markdown_list(items: Sequence[str]) -> str:
    """One point for each."""
    return "\n".join(f"- {plain(item)}" for item in items)


def plain(text: str) -> str:
    """The text on one line, as written: nothing in it is markup."""
    return SPECIAL.sub(lambda found: "".join(f"\\{character}" for character in found.group()), " ".join(text.split()))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
