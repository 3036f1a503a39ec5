"""Tables and lists of a page; everything a record says is escaped here."""

from collections.abc import Sequence
from html import escape

from wmel.reports.study_cells import StudyTable, TableColumn


def html_table(table: StudyTable) -> str:
    """The table, and why something in it is n/a; nothing where it has no rows."""
    if not table.rows:
        return ""
    heads = "".join(f'<th scope="col"{_side(column)}>{escape(column.title)}</th>' for column in table.columns)
    rows = []
    for row in table.rows:
        cells = [
            f'<th scope="row"{_side(column)}>{escape(cell.text)}</th>'
            if place < table.names
            else f"<td{_side(column)}>{escape(cell.text)}</td>"
            for place, (column, cell) in enumerate(zip(table.columns, row, strict=True))
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    caption = escape(table.caption)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{caption}"><table><caption>{caption}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>{html_list(table.notes, 'notes')}"
    )


def html_list(items: Sequence[str], kind: str = "") -> str:
    """One point for each; nothing where there is none."""
    points = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f'<ul class="{escape(kind)}">{points}</ul>' if points else ""


def paragraphs(text: str) -> str:
    """A paragraph for each part between empty lines."""
    parts = [" ".join(part.split()) for part in text.replace("\r\n", "\n").split("\n\n")]
    return "".join(f"<p>{escape(part)}</p>" for part in parts if part)


def _side(column: TableColumn) -> str:
    return ' class="number"' if column.is_number else ""
