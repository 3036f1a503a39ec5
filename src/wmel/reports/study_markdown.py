"""A study as paste-ready Markdown: every gap in one table, then each comparison, then what is missing."""

import re

from wmel.reports.study_cells import StudyTable
from wmel.reports.study_envelope import ComparisonEntry, StudyRecord
from wmel.reports.study_gaps import tally
from wmel.reports.study_tables import arms_table, gaps_table, missing_table, summary_table, verdict_reasons
from wmel.reports.study_words import setting_words, size_words

SPECIAL = re.compile(r"[\\`|*]|<(?=[A-Za-z/!?])|__")  # what would end a cell, or turn into markup


def to_markdown_study(record: StudyRecord) -> str:
    """The whole study; an undefined number says n/a, and the lines below its table say why."""
    about = [_plain(part) for part in re.split(r"\n\s*\n", record.about.strip()) if part]
    blocks = [f"# {_plain(record.name)}", *about, _plain(size_words(record)), "## Summary", _plain(tally(record))]
    blocks += _table(summary_table(record))
    for comparison in record.comparisons:
        blocks += _comparison(comparison)
    if record.missing:
        blocks += ["## Missing cells", *_table(missing_table(record))]
    if record.refused:
        blocks += ["## Refused", _list(record.refused)]
    blocks.append(f"wmel {_plain(record.wmel_version)}, {record.generated_at.isoformat()}")
    return "\n\n".join(blocks) + "\n"


def _comparison(comparison: ComparisonEntry) -> list[str]:
    blocks = [f"## {_plain(comparison.name)}", _plain(setting_words(comparison)), *_table(arms_table(comparison))]
    if not comparison.gaps:
        return [*blocks, "No gap was measured here."]
    return [*blocks, *_table(gaps_table(comparison)), "Verdicts:", _list(verdict_reasons(comparison))]


def _table(table: StudyTable) -> list[str]:
    """The table, and why something in it is n/a; nothing where it has no rows."""
    if not table.rows:
        return []
    heads = [_line([_plain(column.title) for column in table.columns])]
    heads.append(_line(["---:" if column.is_number else ":---" for column in table.columns]))
    lines = [_line([_plain(cell.text) for cell in row]) for row in table.rows]
    return ["\n".join(heads + lines), *([_list(table.notes)] if table.notes else [])]


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _list(items: list[str]) -> str:
    return "\n".join(f"- {_plain(item)}" for item in items)


def _plain(text: str) -> str:
    """The text on one line, as written: nothing in it is markup."""
    return SPECIAL.sub(lambda found: "".join(f"\\{character}" for character in found.group()), " ".join(text.split()))
