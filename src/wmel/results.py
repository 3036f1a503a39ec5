"""What verbs return: results that print in a few lines, show themselves in a notebook, and become tables and files."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from wmel.errors import BadInput
from wmel.files import check_writable, write_atomically

Rows = Sequence[Mapping[str, Any]]


class Lazy:
    """A field that is computed when it is first read, where it was given as a function."""

    def __init__(self, default: Any = None):
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"_{name}"

    def __get__(self, result: Any, owner: type) -> Any:
        if result is None:
            return self.default
        value = result.__dict__[self.name]
        if callable(value):
            value = result.__dict__[self.name] = value()
        return value

    def __set__(self, result: Any, value: Any) -> None:
        result.__dict__[self.name] = value


@dataclass(eq=False)
class Result:
    """One result; `record` is what is stored of it."""

    answer: Any = Lazy("")  # in one sentence
    rows: Rows = ()  # the summary, one mapping per line
    record: Any = Lazy(None)
    lines: Any = Lazy(())  # for a terminal
    exit_code: int = 0
    folder: Path | None = None  # where its rows are stored
    store: Any = None
    files: Mapping[str, Path] = field(default_factory=dict)  # what was written
    failures: Sequence[str] = ()
    draw: Callable[[], Any] | None = None  # its figure, by plotly
    page: Callable[[], str] | None = None  # its HTML
    markdown: Callable[[], str] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)  # what is particular to a verb

    def __getattr__(self, name: str) -> Any:
        more = self.__dict__.get("more", {})
        if name in more:
            return more[name]
        raise AttributeError(f"this result has no '{name}'; it has {', '.join(more) or 'nothing of its own'}")

    def __repr__(self) -> str:
        return "\n".join([self.answer, *_text_table(self.rows[:LINES])])

    def __str__(self) -> str:
        return "\n".join(self.lines) or repr(self)

    def _repr_html_(self) -> str:
        return f"<p><strong>{escape(self.answer)}</strong></p>{_html_table(self.rows)}{intervals_svg(self.rows)}"

    @property
    def table(self) -> Any:
        """The summary as a polars table."""
        import polars as pl

        return pl.DataFrame([dict(row) for row in self.rows], infer_schema_length=None)

    def to_polars(self) -> Any:
        """One row per episode, where there are episodes; else the summary."""
        if self.store is None:
            return self.table
        from wmel.experiments.load import study_tables

        episodes = study_tables(self.store).episodes
        return self.table if episodes.is_empty() else episodes

    def to_pandas(self) -> Any:
        """The same as a pandas table, if pandas is there."""
        import pandas as pd  # pyright: ignore[reportMissingImports]

        return pd.DataFrame(self.to_polars().to_dict(as_series=False))

    def to_latex(self) -> str:
        """The summary as a LaTeX table (booktabs)."""
        names = list(self.rows[0]) if self.rows else []
        head = " & ".join(map(_latex, names))
        body = [" & ".join(_latex(_shown(row[name])) for name in names) + r" \\" for row in self.rows]
        lines = [rf"\begin{{tabular}}{{{'l' * len(names)}}}", r"\toprule", head + r" \\", r"\midrule", *body]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"

    def to_json(self) -> str:
        """The record, or the summary where there is none, as JSON."""
        if self.record is not None:
            return self.record.model_dump_json(by_alias=True, indent=1)
        return json.dumps([dict(row) for row in self.rows], indent=1)

    def plot(self) -> Any:
        """The figure, by plotly."""
        if self.draw is None:
            raise BadInput("there is no figure of this result")
        return self.draw()

    def report(self, path: Path | str) -> Path:
        """Write a page (.html) or its text (.md)."""
        path = Path(path)
        check_writable(path)
        if path.suffix == ".md":
            text = self.markdown() if self.markdown is not None else _markdown(self.answer, self.rows)
        elif path.suffix == ".html":
            text = self.page() if self.page is not None else _page(self)
        else:
            raise BadInput(f"a report is .html or .md, got {path.name!r}")
        write_atomically(path, text)
        return path

    def save(self, folder: Path | str) -> Path:
        """Write the record, the tables and, where rows were kept, the rows."""
        folder = Path(folder)
        if self.record is not None:
            from wmel.reports.records import write_record

            write_record(folder / f"{self.record.kind}.json", self.record)
        write_atomically(folder / "summary.md", _markdown(self.answer, self.rows))
        if self.store is not None:
            frame = self.to_polars()
            frame.write_parquet(folder / "episodes.parquet")
        return folder


LINES = 12  # of a summary that are printed


def _shown(value: Any) -> str:
    if value is None:
        return "n/a"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _text_table(rows: Rows) -> list[str]:
    if not rows:
        return []
    names = list(rows[0])
    cells = [names, *([_shown(row.get(name)) for name in names] for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(names))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]


def _html_table(rows: Rows) -> str:
    if not rows:
        return ""
    heads = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
    body = "".join(f"<tr>{''.join(f'<td>{escape(_shown(cell))}</td>' for cell in row.values())}</tr>" for row in rows)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def intervals_svg(rows: Rows) -> str:
    """The intervals of a summary as a small drawing that needs no script: nothing where there are none.

    The value of a row is what stands before its `low`; words before it name the row.
    """
    found = [_interval(row) for row in rows if row.get("low") is not None and row.get("high") is not None]
    if not found:
        return ""
    low, high = min(one[2] for one in found), max(one[3] for one in found)
    span = (high - low) or 1.0

    def across(value: float) -> float:
        return 260 + 380 * (value - low) / span

    marks = []
    for place, (name, value, left, right) in enumerate(found):
        y = 20 + 22 * place
        marks.append(f'<text x="250" y="{y + 4}" text-anchor="end" font-size="12">{escape(name[:40])}</text>')
        marks.append(f'<line x1="{across(left):.1f}" x2="{across(right):.1f}" y1="{y}" y2="{y}" stroke="#777"/>')
        marks.append(f'<circle cx="{across(value):.1f}" cy="{y}" r="4" fill="#0077bb"/>')
    foot = 24 + 22 * len(found)
    ends = f'<text x="260" y="{foot}" font-size="11">{low:.3g}</text>'
    ends += f'<text x="640" y="{foot}" text-anchor="end" font-size="11">{high:.3g}</text>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="660" height="{foot + 8}">{"".join(marks)}{ends}</svg>'


def _interval(row: Mapping[str, Any]) -> tuple[str, float, float, float]:
    """The name, value and ends of a row."""
    names = list(row)
    key = names[names.index("low") - 1]
    words = [str(row[name]) for name in names[: names.index("low") - 1] if not isinstance(row[name], float)]
    return " ".join(words), row[key], row["low"], row["high"]


def _markdown(answer: str, rows: Rows) -> str:
    from wmel.reports.markdown_tables import plain

    if not rows:
        return f"{plain(answer)}\n"
    names = list(rows[0])
    lines = [f"| {' | '.join(plain(name) for name in names)} |", f"| {' | '.join('---' for _ in names)} |"]
    lines += [f"| {' | '.join(plain(_shown(row[name])) for name in names)} |" for row in rows]
    return "\n".join([plain(answer), "", *lines]) + "\n"


def _page(result: Result) -> str:
    from wmel.reports.document import Section, document, plotly_needed

    figures = []
    if result.draw is not None:
        with plotly_needed():
            from wmel.reports.plotly_script import drawn
        figures = [drawn("figure", result.answer, result.plot())]
    sections = [Section("results", "Results", f'<div class="scroll">{_html_table(result.rows)}</div>', figures)]
    stamp = "" if result.record is None else f"wmel {result.record.wmel_version}"
    return document("wmel", f"<p>{escape(result.answer)}</p>", sections, stamp)


def _latex(text: str) -> str:
    for character in "\\&%$#_{}":
        text = text.replace(character, {"\\": r"\textbackslash{}"}.get(character, f"\\{character}"))
    return text
