"""A study as one HTML file that needs nothing else: no network, and no JavaScript but for its figures."""

import base64
import hashlib
from html import escape

from wmel.errors import MissingExtra
from wmel.reports.figure_style import GREY, MARKS
from wmel.reports.page_style import DRAW, STYLE
from wmel.reports.page_tables import html_list, html_table, paragraphs
from wmel.reports.study_envelope import ComparisonEntry, StudyRecord
from wmel.reports.study_gaps import StudyGap, equivalence_margin, study_gaps, tally
from wmel.reports.study_tables import arms_table, gaps_table, missing_table, summary_table, verdict_reasons
from wmel.reports.study_words import gap_sentence, setting_words, size_words

FEW = 12  # so many sentences or comparisons are shown unfolded
NO_SCRIPT = "<noscript><p>The figures need JavaScript; the tables hold the same numbers.</p></noscript>"


def study_page(record: StudyRecord) -> str:
    """The whole page, to be written as UTF-8."""
    try:
        from wmel.reports.figures import as_json, curves, forest, plotly_javascript
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "plotly":
            raise
        raise MissingExtra("the HTML report needs plotly: install wmel[report]") from error

    drawn = [("Every gap with its interval", as_json(forest(record)))] if study_gaps(record) else []
    swept = [(f"Curve: {figure.layout.title.text}", as_json(figure)) for figure in curves(record)]
    library = plotly_javascript() if drawn or swept else ""
    scripts = [library, DRAW] if library else []
    body = [
        f"<header><h1>{escape(record.name)}</h1>{paragraphs(record.about)}",
        f'<p class="quiet">{escape(size_words(record))}</p></header>',
        _section("summary", "What may be said", _sentences(record) + html_table(summary_table(record))),
        _section("gaps", "Gaps", _legend(record) + _figures("forest", drawn) if drawn else ""),
        _section("curves", "Curves", _figures("curve", swept)),
        _section("comparisons", "Comparisons", "".join(map(_comparison, record.comparisons))),
        _section("missing", "Missing cells", html_table(missing_table(record))),
        _section("refused", "Refused", html_list(record.refused)),
    ]
    stamp = f"wmel {escape(record.wmel_version)}, {escape(record.generated_at.isoformat())}"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{_policy(scripts)}'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(record.name)}</title>'
        f"<style>{STYLE}</style></head>\n<body><main>{''.join(body)}</main>\n<footer>{stamp}</footer>\n"
        f"{''.join(f'<script>{script}</script>' for script in scripts)}</body></html>\n"
    )


def _policy(scripts: list[str]) -> str:
    """Nothing is fetched, and no script runs but these."""
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    rules = f"default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src {allowed}"
    return f'<meta http-equiv="Content-Security-Policy" content="{rules}">'


def _section(place: str, title: str, content: str) -> str:
    if not content:
        return ""
    return f'<section aria-labelledby="{place}"><h2 id="{place}">{title}</h2>{content}</section>\n'


def _sentences(record: StudyRecord) -> str:
    gaps = study_gaps(record)
    told = f"<p>{escape(tally(record))}</p>"
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


def _figures(kind: str, drawn: list[tuple[str, str]]) -> str:
    """A place for each figure, and its data; titles are escaped already."""
    blocks = [
        f'<div class="figure" id="{kind}-{number}" role="img" aria-label="{title}"></div>'
        f'<script type="application/json" data-figure="{kind}-{number}">{data}</script>'
        for number, (title, data) in enumerate(drawn)
    ]
    return "".join(blocks) + NO_SCRIPT if blocks else ""


def _comparison(comparison: ComparisonEntry) -> str:
    tables = html_table(arms_table(comparison)) + html_table(gaps_table(comparison))
    reasons = html_list(verdict_reasons(comparison)) or "<p>No gap was measured here.</p>"
    setting = f'<p class="quiet">{escape(setting_words(comparison))}</p>'
    return f"<details><summary>{escape(comparison.name)}</summary>{setting}{tables}{reasons}</details>"
