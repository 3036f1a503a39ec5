"""Results of verbs. They print a summary, display in notebooks, convert to tables and save to files."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from wmel.errors import BadInput, requires_package
from wmel.files import check_writable, write_atomically
from wmel.machine import wmel_version
from wmel.parts import import_object
from wmel.reports.cells import stamp_words
from wmel.reports.document import Document, Figure, Section, Table, TableCell, TableColumn, draw_figure
from wmel.reports.terminal import render_terminal

Texts = Sequence[Mapping[str, str]]
SUMMARY_LINES = 12  # the rows of a summary that are printed
SUMMARY = "summary.md"
RENDERERS = {".md": "markdown:render_markdown", ".html": "html:render_html"}  # of wmel.reports
LATEX = str.maketrans(
    {**{one: f"\\{one}" for one in "&%$#_{}"}, "\\": r"\textbackslash{}", "^": r"\textasciicircum{}"}
    | {"~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}"}
)


class LazyField:
    """A field that may be set to a function, which is called when the field is first read."""

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
class LazyValue:
    """A value of `Result.more` that is computed when it is first read."""

    compute: Callable[[], Any]

    @cached_property
    def value(self) -> Any:
        return self.compute()


@dataclass(eq=False)
class Result:
    """The result of a verb. Its record is the stored form."""

    answer: Any = LazyField("")  # one sentence
    rows: Any = LazyField(())  # the summary, one mapping per row
    record: Any = LazyField(None)
    lines: Any = LazyField(())  # the output in a terminal
    exit_code: int = 0
    verb: str = ""  # the verb that returned it
    folder: Path | None = None  # of the stored rows
    store: Any = None
    files: Mapping[str, Path] = field(default_factory=dict)  # the written files
    failures: Sequence[str] = ()
    draw: Callable[[], Any] | None = None  # returns the plotly figure
    intervals: Any = LazyField(None)  # the `Intervals` of the figure, instead of those of the rows
    curves: Any = LazyField(None)  # the `Curves` of the figure, if there are no intervals
    document: Callable[[], Document] | None = None  # returns the report; None: the answer and the rows
    write: Callable[[Path], object] | None = None  # saves more than the record in a folder
    recorded: Callable[[], Any] | None = None  # returns tables of episodes with extra columns, if there is no store
    prints_rows: bool = False  # the JSON is that of the rows, instead of the record
    data: Any = None  # the JSON, instead of that of the record or of the rows
    more: Mapping[str, Any] = field(default_factory=dict)  # attributes of a single verb

    def __getattr__(self, name: str) -> Any:
        more = self.__dict__.get("more", {})
        if name in more:
            return more[name].value if isinstance(more[name], LazyValue) else more[name]
        raise AttributeError(f"this result has no '{name}'; it has {', '.join(more) or 'no further attributes'}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.more]

    def __repr__(self) -> str:
        return "\n".join([self.answer, *_text_table(self.formatted_rows[:SUMMARY_LINES])])

    def __str__(self) -> str:
        lines = self.lines or ([] if self.document is None else render_terminal(self.document()))
        return "\n".join(lines) or repr(self)

    def _repr_html_(self) -> str:
        from wmel.reports.small_svg import drawing

        figure = drawing(self.rows, self.intervals, self.curves)
        return f"<p><strong>{escape(self.answer)}</strong></p>{_html_table(self.formatted_rows)}{figure}"

    @property
    def formatted_rows(self) -> list[dict[str, str]]:
        """The summary as text. An undefined number is n/a, and a swept value of None is none."""
        from wmel.reports.study_tables import label_texts

        labels = [] if self.record is None else label_texts(self.record)
        swept = labels if len(labels) == len(self.rows) else [{} for _ in self.rows]
        texts = ({name: _format_value(value) for name, value in row.items()} for row in self.rows)
        return [{**row, **own} for row, own in zip(texts, swept, strict=True)]

    @property
    def table(self) -> Any:
        """The summary as a polars table."""
        import polars as pl

        return pl.DataFrame([dict(row) for row in self.rows], infer_schema_length=None)

    def to_polars(self) -> Any:
        """One row per episode as a polars table, or the summary if there are no episodes."""
        return self.table if self._episode_rows is None else self._episode_rows

    @property
    def episodes(self) -> Any:
        """One row per episode, as a polars table. Raises AttributeError if no episode was run."""
        if self._episode_rows is None:
            raise AttributeError("no episode was run")
        return self._episode_rows

    @cached_property
    def _episode_rows(self) -> Any:
        if self.store is None:
            return None if self.recorded is None else _concatenate_episodes(self.recorded())
        from wmel.experiments.load import study_tables

        found = study_tables(self.store).episodes
        return None if found.is_empty() else found

    def to_pandas(self) -> Any:
        """The table of `to_polars` as a pandas table."""
        with requires_package("pandas", "to_pandas() needs pandas: install wmel[pandas]"):
            import pandas as pd  # pyright: ignore[reportMissingImports]

        return pd.DataFrame(self.to_polars().to_dict(as_series=False))

    def to_latex(self) -> str:
        """The summary as a LaTeX table (booktabs)."""
        names = list(self.rows[0]) if self.rows else []
        head = " & ".join(map(_latex, names))
        body = [" & ".join(_latex(row[name]) for name in names) + r" \\" for row in self.formatted_rows]
        lines = [rf"\begin{{tabular}}{{{'l' * len(names)}}}", r"\toprule", head + r" \\", r"\midrule", *body]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"

    def to_json(self) -> str:
        """The record as JSON, or the summary if there is no record."""
        if self.data is not None:
            return json.dumps(self.data, indent=1)
        if not self.prints_rows and self.record is not None:
            return self.record.model_dump_json(by_alias=True, indent=1)
        return json.dumps([dict(row) for row in self.rows], indent=1)

    def plot(self) -> Any:
        """The figure, as a plotly figure."""
        if self.draw is not None:
            return self.draw()
        intervals: Any = self.intervals
        curves: Any = self.curves
        if intervals is None and curves is None:
            raise BadInput(f"this result has no figure: {self.answer}")
        if intervals is not None:
            return draw_figure("figures:intervals_figure", intervals)
        return draw_figure("figures:curves_figure", curves)

    def report(self, path: Path | str) -> Path:
        """Writes the report as HTML (.html) or Markdown (.md)."""
        path = Path(path)
        check_writable(path)
        if path.suffix not in RENDERERS:
            raise BadInput(f"a report is .html or .md, got {path.name!r}")
        write_atomically(path, self._render(path.suffix))
        return path

    def to_markdown(self) -> str:
        """The report as Markdown."""
        return self._render(".md")

    def _render(self, suffix: str) -> str:
        render = import_object(f"wmel.reports.{RENDERERS[suffix]}")
        return render(self.document() if self.document is not None else _default_document(self))

    def save(self, folder: Path | str) -> Path:
        """Writes rows, record and summary to a folder that `wmel.load` can read.

        Raises BadInput for a folder with another result, and for a result with neither rows nor record.
        """
        from wmel.reports.records import FILES, write_record

        folder = Path(folder)
        if self.store is None and self.write is None and self.record is None:
            raise BadInput(
                f"this result has no record to save in {folder}: write its to_json() or to_polars() to a file"
            )
        check_writable(folder / SUMMARY)
        if self.store is None or getattr(self.store, "folder", None) != folder:
            _check_same_result(folder, self)
            if self.store is not None:
                from wmel.experiments.folder_store import FolderStore

                FolderStore(folder).copy_rows(self.store)
        if self.write is not None:
            self.write(folder)
        elif self.record is not None:
            write_record(folder / FILES[self.record.kind], self.record)
        write_atomically(folder / SUMMARY, import_object(f"wmel.reports.{RENDERERS['.md']}")(_default_document(self)))
        return folder


def _check_same_result(folder: Path, result: Result) -> None:
    """Raises BadInput if a folder holds another result."""
    from wmel.experiments.store import MANIFEST
    from wmel.reports.record_entries import same_record
    from wmel.reports.records import FILES, read_record

    found = [name for name in (MANIFEST, *FILES.values()) if (folder / name).exists()]
    for name in found:
        if name == MANIFEST:
            same = result.store is not None  # copy_rows compares the rows
        else:
            same = result.record is not None and same_record(read_record(folder / name), result.record)
        if not same:
            raise BadInput(f"{folder} holds another result ({name}): give another folder")


def _concatenate_episodes(parts: Sequence[tuple[Any, Mapping[str, Any]]]) -> Any:
    """Tables of episodes as one polars table. Each has extra columns with one value."""
    import polars as pl

    from wmel.experiments.tables import to_frame

    frames = [to_frame(one).with_columns(pl.lit(value).alias(name) for name, value in named.items())
              for one, named in parts]  # fmt: skip
    return pl.concat(frames, how="diagonal_relaxed")


def _format_value(value: Any) -> str:
    if value is None:
        return "n/a"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _text_table(rows: Texts) -> list[str]:
    if not rows:
        return []
    names = list(rows[0])
    cells = [names, *([row[name] for name in names] for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(names))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]


def _html_table(rows: Texts) -> str:
    if not rows:
        return ""
    sides = {name: "right" if all(_is_number(row[name]) for row in rows) else "left" for name in rows[0]}
    styles = {name: f' style="text-align: {side}; padding: 0 .7em"' for name, side in sides.items()}
    heads = "".join(f"<th{styles[name]}>{escape(name)}</th>" for name in rows[0])
    lines = ("".join(f"<td{styles[name]}>{escape(row[name])}</td>" for name in sides) for row in rows)
    return (
        f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text == "n/a"
    return True


def _default_document(result: Result) -> Document:
    """The default report of a result: its answer, rows and figure."""
    names = list(result.rows[0]) if result.rows else []
    rows = tuple(tuple(TableCell(row[name]) for name in names) for row in result.formatted_rows)
    table = Table("Results", tuple(TableColumn(name, False) for name in names), rows)
    has_figure = any(one is not None for one in (result.draw, result.curves, result.intervals))
    figures = [Figure("figure", result.answer, result.plot)] if has_figure else []
    stamp = f"wmel {wmel_version()}" if result.record is None else stamp_words(result.record)
    return Document("wmel", result.answer, sections=[Section("Results", [table, *figures])], stamp=stamp)


def _latex(text: str) -> str:
    return text.translate(LATEX)
