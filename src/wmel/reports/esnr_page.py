"""ESNR readings as one HTML file, and as Markdown."""

from html import escape

from wmel.reports.document import Section, document, plotly_needed
from wmel.reports.esnr_envelope import EsnrRecord
from wmel.reports.esnr_words import describe_readings, difference_table, esnr_sentences, esnr_table
from wmel.reports.markdown_tables import markdown_list, markdown_table, plain
from wmel.reports.page_tables import html_list, html_table


def esnr_page(record: EsnrRecord) -> str:
    """The whole page, to be written as UTF-8."""
    with plotly_needed():
        from wmel.reports.esnr_figures import alignments, ratios, states
        from wmel.reports.plotly_script import drawn

    title = f"ESNR in {record.environment}"
    aligned = any(one.alignment is not None for one in record.readings)
    known = any(one.esnr_per_rollout.value is not None for one in record.readings)
    figures = [drawn("ratios", "Signal per imagined rollout", ratios(record))] if known else []
    pointed = [drawn("alignments", "Alignment with the true gradients", alignments(record))] if aligned else []
    scattered = [drawn("states", "Every state", states(record))] if aligned and known else []
    sections = [
        Section("summary", "What may be said", html_list(esnr_sentences(record))),
        Section("ratios-title", "Signal for its noise", html_table(esnr_table(record)), figures),
        Section("alignments-title", "Where gradients point", figures=pointed),
        Section("states-title", "State by state", figures=scattered),
        Section("differences", "Differences between models", html_table(difference_table(record))),
    ]
    header = f'<p class="quiet">{escape(describe_readings(record))}</p>'
    return document(title, header, sections, f"wmel {record.wmel_version}, {record.generated_at.isoformat()}")


def to_markdown_esnr(record: EsnrRecord) -> str:
    """The tables and sentences."""
    parts = [
        f"# ESNR in {plain(record.environment)}",
        plain(describe_readings(record)),
        *markdown_table(esnr_table(record)),
        *markdown_table(difference_table(record)),
        markdown_list(esnr_sentences(record)),
    ]
    return "\n\n".join(parts) + "\n"
