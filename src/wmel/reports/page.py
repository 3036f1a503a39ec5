"""A study as one HTML file."""

from collections.abc import Sequence
from html import escape

from wmel.reports.document import Section, document, plotly_needed
from wmel.reports.esnr_envelope import EsnrRecord
from wmel.reports.figure_style import GREY, MARKS
from wmel.reports.page_tables import html_list, html_table, paragraphs
from wmel.reports.study_envelope import ComparisonEntry, StudyRecord
from wmel.reports.study_gaps import StudyGap, equivalence_margin, study_gaps
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
from wmel.reports.study_words import describe_comparison, gap_sentence, size_words

FEW = 12  # so many sentences or comparisons are shown unfolded


def study_page(record: StudyRecord, readings: Sequence[EsnrRecord] = ()) -> str:
    """The whole page, to be written as UTF-8; `readings` are those of ESNR that was read side by side."""
    with plotly_needed():
        from wmel.reports.figures import curves, forest, reading_figures
        from wmel.reports.plotly_script import drawn, title_of

    gaps = [drawn("forest-0", "Every gap with its interval", forest(record))] if study_gaps(record) else []
    swept = [
        drawn(f"curve-{number}", f"Curve: {title_of(figure)}", figure) for number, figure in enumerate(curves(record))
    ]
    read = [
        drawn(f"reading-{number}", f"Reading: {title_of(figure)}", figure)
        for number, figure in enumerate(reading_figures(record))
    ]
    tables = [*readings_tables(record.readings), *differences_tables(readings)]
    sections = [
        Section("summary", "What may be said", _sentences(record) + html_table(summary_table(record))),
        Section("gaps", "Gaps", _legend(record) if gaps else "", gaps),
        Section("readings", "Readings", "".join(map(html_table, tables)), read),
        Section("curves", "Curves", figures=swept),
        Section("comparisons", "Comparisons", "".join(map(_comparison, record.comparisons))),
        Section("uncompared", "Arms without an oracle", "".join(map(_comparison, record.uncompared))),
        Section("missing", "Missing cells", html_table(missing_table(record))),
        Section("refused", "Refused", html_list(record.refused)),
    ]
    header = f'{paragraphs(record.about)}<p class="quiet">{escape(size_words(record))}</p>'
    stamp = f"wmel {record.wmel_version}, {record.generated_at.isoformat()}"
    return document(record.name, header, sections, stamp)


def _sentences(record: StudyRecord) -> str:
    gaps = study_gaps(record)
    told = f"<p>{escape(study_answer(record))}</p>"
    if not gaps:
        return told
    points = f'<ul class="gaps">{"".join(map(_sentence, gaps))}</ul>'
    return told + (points if len(gaps) <= FEW else f"<details><summary>Each gap in words</summary>{points}</details>")


def _sentence(gap: StudyGap) -> str:
    colour = MARKS.get(gap.entry.verdict, (GREY, ""))[0]
    name = f"<strong>{escape(gap.model)}</strong> in {escape(gap.comparison.name)}"
    label = f'<span class="verdict">{escape(gap.entry.verdict)}</span>'
    return f'<li style="--mark: {colour}">{name} {label}<br>{escape(gap_sentence(gap))}</li>'


def _legend(record: StudyRecord) -> str:
    margin = equivalence_margin(record)
    band = "" if margin is None else f" The shaded band, {margin:g} to either side of 0, counts as no gap."
    return f'<p class="quiet">Right of 0 planning does better on the true dynamics than on the model.{band}</p>'


def _comparison(comparison: ComparisonEntry) -> str:
    shown = (arms_table(comparison), gaps_table(comparison), coverage_table(comparison.coverage))
    tables = "".join(map(html_table, shown))
    reasons = html_list(verdict_reasons(comparison)) or "<p>No gap was measured here.</p>"
    setting = f'<p class="quiet">{escape(describe_comparison(comparison))}</p>'
    return f"<details><summary>{escape(comparison.name)}</summary>{setting}{tables}{reasons}</details>"
