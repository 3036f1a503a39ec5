"""`wmel report`: the results of a study from its stored rows, as JSON, Markdown and a page."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from wmel.cli import options

EXAMPLES = """\b
Examples:
  wmel report runs/acrobot-pooled
  wmel report runs/acrobot-pooled --success 'reward>=0.8' --output runs/stricter
"""


def report(
    folder: Annotated[Path, typer.Argument(help="The store of a study.")],
    output: Annotated[
        Path | None, typer.Option("--output", "--out", help="Folder of the report.  [default: that of the study]")
    ] = None,
    success: Annotated[
        str | None,
        typer.Option("--success", help="Judge the stored episodes by another criterion: 'reward>=0.8@sustained:5'."),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Write results.json, report.md and report.html from the rows of a study; nothing is run."""
    from wmel.analysis.study_arms import study_comparisons
    from wmel.cli import inputs
    from wmel.cli.rescoring import rescored_results
    from wmel.cli.shown_gaps import print_study
    from wmel.reports.files import write_atomically
    from wmel.reports.page import study_page
    from wmel.reports.records import write_record
    from wmel.reports.study_markdown import to_markdown_study
    from wmel.reports.study_record import study_record
    from wmel.study.load import load_study

    into = output or folder
    files = {name: into / name for name in ("results.json", "report.md", "report.html")}
    criterion = inputs.criterion(success)
    loaded = load_study(folder, rewards=criterion is not None)
    inputs.check_outputs(*files.values())
    for wrong in loaded.damaged:
        print(f"wmel: {wrong}: left out; `wmel study` runs it again", file=sys.stderr)
    results = loaded.results if criterion is None else rescored_results(loaded.results, criterion)
    compared = study_comparisons(results, anytime=loaded.anytime)
    said = None if criterion is None else str(criterion)
    record = study_record(loaded.name, loaded.about, results, compared, rescored=said)
    write_record(files["results.json"], record)
    write_atomically(files["report.md"], to_markdown_study(record))
    write_atomically(files["report.html"], study_page(record))
    if not quiet:
        print_study(record)
        print(f"report: {files['report.html']}")
