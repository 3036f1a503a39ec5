"""An HTML file that needs nothing else: no network, and no JavaScript but for its figures."""

import base64
import hashlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from wmel.errors import needing
from wmel.reports.page_style import DRAW, STYLE

NO_SCRIPT = "<noscript><p>The figures need JavaScript; the tables hold the same numbers.</p></noscript>"


class Drawn(NamedTuple):
    """A figure: the id of its place, what it is called where it cannot be seen, and plotly's JSON of it."""

    name: str
    title: str
    data: str


@dataclass(frozen=True)
class Section:
    """A heading, HTML below it, and figures below that; nothing at all where there is neither."""

    place: str  # the id of its heading
    title: str
    html: str = ""
    figures: Sequence[Drawn] = ()


def document(title: str, header: str, sections: Sequence[Section], stamp: str) -> str:
    """The whole file, to be written as UTF-8; `header` and what sections hold is HTML, the rest plain text."""
    scripts = _scripts() if any(section.figures for section in sections) else []
    body = f"<header><h1>{escape(title)}</h1>{header}</header>{''.join(map(_section, sections))}"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{_policy(scripts)}'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head>\n<body><main>{body}</main>\n<footer>{escape(stamp)}</footer>\n"
        f"{''.join(f'<script>{script}</script>' for script in scripts)}</body></html>\n"
    )


def plotly_needed() -> AbstractContextManager[None]:
    """Where files that draw are imported: without plotly the extra to install is named."""
    return needing("plotly", "the HTML report needs plotly: install wmel[report]")


def _scripts() -> list[str]:
    with plotly_needed():
        from wmel.reports.plotly_script import plotly_javascript
    return [plotly_javascript(), DRAW]


def _policy(scripts: list[str]) -> str:
    """Nothing is fetched, and no script runs but these."""
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    rules = f"default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src {allowed}"
    return f'<meta http-equiv="Content-Security-Policy" content="{rules}">'


def _section(section: Section) -> str:
    content = section.html + "".join(map(_figure, section.figures)) + (NO_SCRIPT if section.figures else "")
    if not content:
        return ""
    heading = f'<h2 id="{section.place}">{escape(section.title)}</h2>'
    return f'<section aria-labelledby="{section.place}">{heading}{content}</section>\n'


def _figure(drawn: Drawn) -> str:
    """A place for the figure, and its data."""
    return (
        f'<div class="figure" id="{drawn.name}" role="img" aria-label="{escape(drawn.title)}"></div>'
        f'<script type="application/json" data-figure="{drawn.name}">{drawn.data}</script>'
    )
