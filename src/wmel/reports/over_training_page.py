"""ESNR over training as one HTML file, and as Markdown."""

from collections.abc import Sequence
from html import escape

from wmel.reports.document import Section, document, plotly_needed
from wmel.reports.markdown_tables import markdown_list, markdown_table, plain
from wmel.reports.over_training_curves import TrainingReadings
from wmel.reports.over_training_words import correlation_table, describe_trainings, training_sentences, training_table
from wmel.reports.page_tables import html_list, html_table
from wmel.reports.records import stamp

LEGEND = (
    "Intervals are 95%. Open triangles: readings not above 0, at the upper end of their intervals; an ESNR of exactly "
    "0 is not drawn. Dotted: where a U-shape is lowest. Grey: the oracle, which does not learn, at the same noise."
)


def over_training_page(trainings: Sequence[TrainingReadings]) -> str:
    """The whole page, to be written as UTF-8."""
    with plotly_needed():
        from wmel.reports.over_training_figures import alignments_figure, figures_of, ratios_figure
        from wmel.reports.plotly_script import drawn

    sections = [Section("summary", "What may be said", html_list(training_sentences(trainings)))]
    for method in trainings[0].methods:
        title = f"ESNR by {method} over training"
        figures = [drawn(f"ratios-{method}", title, ratios_figure(trainings, method))]
        if any(entry.alignment is not None for one in trainings for entry in one.entries(method)):
            aligned = f"Alignment by {method} with the true gradients"
            figures.append(drawn(f"alignments-{method}", aligned, alignments_figure(trainings, method)))
        sections.append(Section(f"{method}-title", title, f'<p class="quiet">{escape(LEGEND)}</p>', figures))
    beside = [drawn(f"beside-{n}", name, made()) for n, (name, made) in enumerate(figures_of(trainings).items())]
    sections += [
        Section("beside", "Beside it", html_table(correlation_table(trainings)), beside),
        Section("numbers", "Numbers", html_table(training_table(trainings))),
    ]
    header = f'<p class="quiet">{escape(describe_trainings(trainings))}</p>'
    return document(_title(trainings), header, sections, _stamp())


def to_markdown_over_training(trainings: Sequence[TrainingReadings]) -> str:
    """The same sentences and tables."""
    parts = [
        f"# {plain(_title(trainings))}",
        plain(describe_trainings(trainings)),
        markdown_list(training_sentences(trainings)),
        *markdown_table(training_table(trainings)),
        *markdown_table(correlation_table(trainings)),
        _stamp(),
    ]
    return "\n\n".join(parts) + "\n"


def _title(trainings: Sequence[TrainingReadings]) -> str:
    return f"ESNR over training in {next(iter(trainings[0].records.values())).environment}"


def _stamp() -> str:
    made = stamp()
    return f"wmel {made['wmel_version']}, {made['generated_at'].isoformat()}"
