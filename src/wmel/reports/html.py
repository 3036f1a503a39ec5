"""A report as one HTML file that needs nothing else: no network, and no JavaScript but for its figures."""

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from typing import Any

from wmel.errors import escape_unprintable
from wmel.reports.document import (
    Block,
    Document,
    Figure,
    ListItem,
    Points,
    Section,
    Table,
    TableColumn,
    Text,
    pieces,
    plotly_needed,
)
from wmel.reports.figure_style import MARKS

STYLE = """
:root {
  color-scheme: light dark;
  --ink: #1c2126; --quiet: #57606a; --paper: #ffffff; --raised: #f5f7f9; --line: #d5dbe1; --link: #0b5cad;
}
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --quiet: #a3adb8; --paper: #14181c; --raised: #1d2329; --line: #39424c; --link: #7fb8f0; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main, footer { max-width: 72rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .75rem; }
h3 { font-size: 1.1rem; margin: 1.75rem 0 .5rem; }
h1, h2, h3, p, li, summary, th, td { overflow-wrap: anywhere; }
p, ul { max-width: 62rem; }
.answer { font-size: 1.15rem; font-weight: 600; }
.quiet, footer, .notes { color: var(--quiet); font-size: .9rem; }
.gaps { list-style: none; padding: 0; }
.gaps li { border-left: 4px solid var(--mark, var(--line)); padding: .1rem 0 .1rem .8rem; margin: 0 0 .8rem; }
.verdict { font-size: .8rem; font-weight: 650; letter-spacing: .02em; border: 1px solid var(--mark, var(--line));
  border-radius: .3rem; padding: .05rem .4rem; margin-left: .4rem; white-space: nowrap; }
.scroll { overflow-x: auto; margin: .75rem 0; border: 1px solid var(--line); border-radius: .4rem; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .55rem .7rem; color: var(--quiet); caption-side: top; }
caption span { display: block; max-width: calc(100vw - 4.5rem); }
th, td { padding: .4rem .7rem; text-align: left; border-top: 1px solid var(--line); vertical-align: top;
  overflow-wrap: normal; }
thead th { background: var(--raised); font-weight: 600; white-space: nowrap; }
tbody th { font-weight: 600; overflow-wrap: break-word; max-width: 24rem; }
.number { text-align: right; white-space: nowrap; }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .6rem 0; padding: 0 1rem; }
summary { cursor: pointer; padding: .7rem 0; font-weight: 600; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.figure { width: 100%; overflow-x: auto; margin-bottom: 2rem; }
.js-plotly-plot svg text:not(.hoverlayer *) { fill: var(--ink) !important; }
@media (min-width: 601px) { td wbr, th wbr { display: none; } }
@media (max-width: 600px) {
  table { font-size: .72rem; }
  th, td { padding: .3rem .25rem; }
  tbody td:last-child:not(.number) { min-width: 12rem; }
  .number, thead th { white-space: normal; }
}
@media print { details::details-content { content-visibility: visible; } }
"""

DRAW = """
const wrap = (text, most) => {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines[lines.length - 1];
    if (line && line.length + word.length >= most) lines.push(word);
    else lines[lines.length - 1] = line ? line + " " + word : word;
  }
  return lines.join("<br>");
};
const narrow = (layout) => {
  for (const name of Object.keys(layout).filter((one) => /^[xy]axis/.test(one))) {
    const axis = layout[name];
    if (axis.title?.text) axis.title.text = wrap(axis.title.text, 24);
    if (axis.ticktext) {
      axis.ticktext = axis.ticktext.map((one) => wrap(one, 20));
      const rows = axis.ticktext.map((one) => one.split("<br>").length - 1);
      if (name.startsWith("y")) layout.height += 14 * Math.max(...rows) * rows.length;
    }
  }
  if (layout.title?.text) layout.title.text = wrap(layout.title.text, 36);
};
for (const block of document.querySelectorAll("script[data-figure]")) {
  const figure = JSON.parse(block.textContent);
  if (window.innerWidth < 600) narrow(figure.layout);
  Plotly.newPlot(block.dataset.figure, figure.data, figure.layout,
    { displayModeBar: false, displaylogo: false, responsive: true });
}
"""


NO_SCRIPT = "<noscript><p>The figures need JavaScript; the tables hold the same numbers.</p></noscript>"


def render_html(document: Document) -> str:
    """The whole file, to be written as UTF-8; everything a document holds is plain text and escaped here."""
    scripts = _scripts() if document.figures else []
    shared = "".join(map(_text, document.shared))
    answer = f'<p class="answer">{_allow_breaks(document.answer)}</p>'
    header = f"<header><h1>{_allow_breaks(document.title)}</h1>{answer}{shared}</header>"
    sections = [section for section in document.sections if not section.is_empty]
    title = escape(escape_unprintable(document.title))
    body = "".join(_section(section, f"section-{number}") for number, section in enumerate(sections, 1))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{_policy(scripts)}'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>'
        f"<style>{STYLE}</style></head>\n<body><main>{header}{body}</main>\n"
        f"<footer>{escape(document.stamp)}</footer>\n"
        f"{''.join(f'<script>{script}</script>' for script in scripts)}</body></html>\n"
    )


def _section(section: Section, place: str, level: int = 2) -> str:
    """A heading and its blocks; `place` is the id of the heading."""
    content = "".join(_block(block, f"{place}-{number}", level + 1) for number, block in enumerate(section.blocks, 1))
    if any(isinstance(block, Figure) for block in section.blocks):
        content += NO_SCRIPT
    if section.is_folded:
        return f"<details><summary>{_allow_breaks(section.title)}</summary>{content}</details>\n"
    heading = f'<h{level} id="{place}">{_allow_breaks(section.title)}</h{level}>'
    return f'<section aria-labelledby="{place}">{heading}{content}</section>\n'


def _block(block: Block, place: str, level: int) -> str:
    if isinstance(block, Text):
        return _text(block)
    if isinstance(block, Points):
        return _points(block)
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Figure):
        return _figure(block)
    return "" if block.is_empty else _section(block, place, level)


def _text(text: Text) -> str:
    quiet = ' class="quiet"' if text.is_quiet else ""
    return f"<p{quiet}>{_allow_breaks(text.words)}</p>"


def _points(points: Points) -> str:
    if not points.items:
        return ""
    kind = ' class="gaps"' if any(one.label for one in points.items) else ""
    return f"<ul{kind}>{''.join(map(_point, points.items))}</ul>"


def _point(point: ListItem) -> str:
    if not (point.name or point.label):
        return f"<li>{_allow_breaks(point.words)}</li>"
    mark = f' style="--mark: {MARKS[point.label][0]}"' if point.label in MARKS else ""
    label = f' <span class="verdict">{_allow_breaks(point.label)}</span>' if point.label else ""
    return f"<li{mark}><strong>{_allow_breaks(point.name)}</strong>{label}<br>{_allow_breaks(point.words)}</li>"


def _table(table: Table) -> str:
    """The table, and why something in it is n/a; nothing where it has no rows."""
    if not table.rows:
        return ""
    heads = "".join(f'<th scope="col"{_side(column)}>{_allow_breaks(column.title)}</th>' for column in table.columns)
    rows = []
    for row in table.rows:
        cells = [
            f'<th scope="row"{_side(column)}>{_allow_breaks(cell.text)}</th>'
            if place < table.names
            else f"<td{_side(column)}>{_allow_breaks(cell.text)}</td>"
            for place, (column, cell) in enumerate(zip(table.columns, row, strict=True))
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    caption = escape(table.caption)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{caption}"><table>'
        f"<caption><span>{_allow_breaks(table.caption)}</span></caption><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>{_notes(table.notes)}"
    )


def _notes(notes: Sequence[str]) -> str:
    return f'<ul class="notes">{"".join(f"<li>{_allow_breaks(one)}</li>" for one in notes)}</ul>' if notes else ""


def _figure(figure: Figure) -> str:
    """The legend, a place for the figure, and its data."""
    with plotly_needed():
        data = figure_json(figure.make())
    legend = _text(Text(figure.legend, is_quiet=True)) if figure.legend else ""
    return (
        f'{legend}<div class="figure" id="{figure.place}" role="img" aria-label="{escape(figure.title)}"></div>'
        f'<script type="application/json" data-figure="{figure.place}">{data}</script>'
    )


def figure_json(figure: Any) -> str:
    """The data of a Plotly figure, harmless inside a script element."""
    return str(figure.to_json()).replace("<", "\\u003c")


def _scripts() -> list[str]:
    """All of plotly.js, with the line ends that a browser hashes, and what draws the figures."""
    with plotly_needed():
        import plotly.offline as plotly
    return [plotly.get_plotlyjs().replace("\r\n", "\n").replace("\r", "\n"), DRAW]


def _policy(scripts: list[str]) -> str:
    """Nothing is fetched, and no script runs but these."""
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    rules = f"default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src {allowed}"
    return f'<meta http-equiv="Content-Security-Policy" content="{rules}">'


def _allow_breaks(text: str) -> str:
    """Escaped text; a long word may break behind its marks, and nowhere else where that suffices."""
    shown = "\n".join(map(escape_unprintable, text.split("\n")))
    return " ".join("<wbr>".join(map(escape, pieces(word))) for word in shown.split(" "))


def _side(column: TableColumn) -> str:
    return ' class="number"' if column.is_number else ""
