"""The ceiling bounce as one HTML file, and as Markdown."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from wmel.diagnostics.ceiling_bounce.panel import Panel
from wmel.reports.document import Section, document
from wmel.reports.markdown_tables import markdown_list, markdown_table, plain
from wmel.reports.page_tables import html_list, html_table, paragraphs
from wmel.reports.plotly_script import drawn
from wmel.reports.records import stamp
from wmel.reports.toy_figures import ascents_figure, landscape_figure, ratios_figure
from wmel.reports.toy_words import ABOUT, TITLE, column_words, describe_panels, shape_words, toy_sentences, toy_table

SHADE = "The ball meets the ceiling at the shaded angles."
LANDSCAPE = f"{SHADE} The distance jumps up where they end; the dotted line is the longest distance."
RATIOS = f"{SHADE} On the logarithmic axis ratios that are not above 0 once corrected for bias are not drawn."
ASCENTS = "Height is the mean distance under noise as a share of the longest. Bands hold 80% of the seeds; dotted: 95%."


def toy_page(panels: Sequence[Panel]) -> str:
    """The whole page, to be written as UTF-8."""
    said = "".join(f"<h3>{escape(_speed(panel))}</h3>{html_list(toy_sentences(panel))}" for panel in panels)
    tables = "".join(html_table(toy_table(panel)) for panel in panels)
    sections = [
        Section("summary", "What may be said", f"{said}<p>{escape(shape_words(panels))}</p>"),
        _figures("landscape", "Distance over the angle", LANDSCAPE, panels, landscape_figure),
        _figures("ratios", "ESNR per rollout over the angle", RATIOS, panels, ratios_figure),
        _figures("ascents", "Ascents", ASCENTS, panels, ascents_figure),
        Section("numbers", "Numbers", tables + html_list(column_words(), "notes")),
    ]
    header = f'{paragraphs(ABOUT)}<p class="quiet">{escape(describe_panels(panels))}</p>'
    return document(TITLE, header, sections, _stamp())


def to_markdown_toy(panels: Sequence[Panel]) -> str:
    """The same tables and sentences."""
    blocks = [f"# {TITLE}", plain(ABOUT), plain(describe_panels(panels))]
    for panel in panels:
        blocks += [f"## {_speed(panel)}", *markdown_table(toy_table(panel)), markdown_list(toy_sentences(panel))]
    blocks += ["## Columns", markdown_list(column_words()), plain(shape_words(panels)), _stamp()]
    return "\n\n".join(blocks) + "\n"


def _figures(name: str, title: str, legend: str, panels: Sequence[Panel], figure: Callable[[Panel], Any]) -> Section:
    """One figure for each speed."""
    found = [
        drawn(f"{name}-{number}", f"{title}, {_speed(panel)}", figure(panel)) for number, panel in enumerate(panels)
    ]
    return Section(name, title, f'<p class="quiet">{escape(legend)}</p>', found)


def _speed(panel: Panel) -> str:
    return f"launch at {panel.speed:g} m/s"


def _stamp() -> str:
    made = stamp()
    return f"wmel {made['wmel_version']}, {made['generated_at'].isoformat()}"
