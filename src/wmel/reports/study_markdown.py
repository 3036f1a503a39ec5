"""A study as paste-ready Markdown: every gap in one table, readings, then each comparison, then what is missing."""

import re
from collections.abc import Sequence

from wmel.reports.esnr_envelope import EsnrRecord
from wmel.reports.markdown_tables import markdown_list, markdown_table, plain
from wmel.reports.study_cells import StudyTable
from wmel.reports.study_envelope import ComparisonEntry, StudyRecord
from wmel.reports.study_readings import differences_tables, readings_tables
from wmel.reports.study_summary import study_answer
from wmel.reports.study_tables import (
    arms_table,
    coverage_table,
    gaps_table,
    missing_table,
    summary_table,
    verdict_reasons,
)
from wmel.reports.study_words import describe_comparison, size_words


def to_markdown_study(record: StudyRecord, readings: Sequence[EsnrRecord] = ()) -> str:
    """The whole study; an undefined number says n/a, and the lines below its table say why.

    `readings` are those of ESNR that was read side by side.
    """
    about = [plain(part) for part in re.split(r"\n\s*\n", record.about.strip()) if part]
    blocks = [f"# {plain(record.name)}", *about, plain(size_words(record)), "## Summary", plain(study_answer(record))]
    blocks += markdown_table(summary_table(record))
    if record.readings:
        tables = [*readings_tables(record.readings), *differences_tables(readings)]
        blocks += ["## Readings", *(block for table in tables for block in _titled(table))]
    for comparison in (*record.comparisons, *record.uncompared):
        blocks += _comparison(comparison)
    if record.missing:
        blocks += ["## Missing cells", *markdown_table(missing_table(record))]
    if record.refused:
        blocks += ["## Refused", markdown_list(record.refused)]
    blocks.append(f"wmel {plain(record.wmel_version)}, {record.generated_at.isoformat()}")
    return "\n\n".join(blocks) + "\n"


def _titled(table: StudyTable) -> list[str]:
    return [plain(table.caption), *markdown_table(table)]


def _comparison(comparison: ComparisonEntry) -> list[str]:
    blocks = [
        f"## {plain(comparison.name)}",
        plain(describe_comparison(comparison)),
        *markdown_table(arms_table(comparison)),
        *(_titled(coverage_table(comparison.coverage)) if comparison.coverage else []),
    ]
    if not comparison.gaps:
        return [*blocks, "No gap was measured here."]
    return [*blocks, *markdown_table(gaps_table(comparison)), "Verdicts:", markdown_list(verdict_reasons(comparison))]
