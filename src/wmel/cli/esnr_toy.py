"""`wmel esnr toy`: the ceiling bounce, where ESNR can be held against the truth."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wmel.cli import options

if TYPE_CHECKING:
    from wmel.diagnostics.ceiling_bounce.panel import Panel

EXAMPLES = """\b
Examples:
  wmel esnr toy --output runs/toy
  wmel esnr toy --speeds 5,6,7,8 --seeds 1000 --output runs/toy-wide
"""


def toy(
    output: Annotated[Path, typer.Option("--output", "--out", help="Folder of toy.html and toy.md.")],
    speeds: Annotated[str, typer.Option("--speeds", help="Launch speeds in m/s, separated by commas.")] = "5,6",
    seeds: Annotated[int, options.count("--seeds", "Ascents per estimator and speed.")] = 300,
    quiet: options.Quiet = False,
) -> None:
    """Compare gradient estimators on a launch whose distance jumps: their ESNR, and how they climb."""
    from wmel.cli import inputs
    from wmel.cli.progress import progress
    from wmel.cli.screen import say_where
    from wmel.errors import needing
    from wmel.reports.document import plotly_needed
    from wmel.reports.files import write_atomically

    with needing("torch", "the ceiling bounce needs torch: install wmel[learned]"):
        from wmel.diagnostics.ceiling_bounce.panel import STEPS, check, panel
    with plotly_needed():
        from wmel.reports.toy_page import to_markdown_toy, toy_page

    launches = inputs.numbers(speeds, "--speeds")
    for speed in launches:
        check(speed, seeds)
    page, markdown = output / "toy.html", output / "toy.md"
    inputs.check_outputs(page, markdown)
    with progress("ceiling bounce", STEPS * len(launches), quiet=quiet, unit="steps") as advance:
        panels = [panel(speed, seeds, progress=advance) for speed in launches]
    write_atomically(page, toy_page(panels))
    write_atomically(markdown, to_markdown_toy(panels))
    if not quiet:
        _print(panels)
        say_where(page=page, markdown=markdown)


def _print(panels: Sequence["Panel"]) -> None:
    """The tables, and what may be said."""
    from wmel.cli.screen import console, table
    from wmel.reports.toy_words import setting_words, shape_words, toy_sentences, toy_table

    print(setting_words(panels))
    for panel in panels:
        shown = toy_table(panel)
        rows = table(*(column.title for column in shown.columns))
        for row in shown.rows:
            rows.add_row(*(cell.text.replace(", ", ",\u00a0").replace(" ", "\u00a0") for cell in row))
        print(f"\n{shown.caption}")
        console().print(rows)
        for line in (*shown.notes, *toy_sentences(panel)):
            print(line)
    print(f"\n{shape_words(panels)}")
