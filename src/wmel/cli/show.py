"""`wmel show`: a stored record, printed again."""

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  wmel show run.json
  wmel show sweep.json --markdown sweep.md
"""


def show(
    record: Annotated[Path, typer.Argument(help="A JSON file that `wmel run`, sweep, cpg, study or esnr wrote.")],
    markdown: Annotated[Path | None, typer.Option(help="Write it here as well (Markdown).")] = None,
) -> None:
    """Check a stored record and print what it holds, computed anew from its rows."""
    from wmel.cli.inputs import check_outputs
    from wmel.cli.screen import say_where
    from wmel.cli.shown_esnr import print_esnr
    from wmel.cli.shown_gaps import print_comparison, print_study
    from wmel.cli.shown_results import print_scorecard, print_sweep
    from wmel.errors import BadInput
    from wmel.reports.compare_envelope import ComparisonRecord
    from wmel.reports.cpg_record import check_arms
    from wmel.reports.esnr_envelope import EsnrRecord
    from wmel.reports.esnr_page import to_markdown_esnr
    from wmel.reports.files import write_atomically
    from wmel.reports.json_envelope import CPGRecord, RunRecord
    from wmel.reports.markdown import to_markdown_horizon_sweep, to_markdown_scorecard
    from wmel.reports.records import read_record, recorded_sweep, run_scorecard
    from wmel.reports.study_envelope import StudyRecord
    from wmel.reports.study_markdown import to_markdown_study

    check_outputs(markdown)
    stored = read_record(record)
    if isinstance(stored, CPGRecord):
        if markdown is not None:
            raise BadInput("a comparison of models has no Markdown yet; its arms' own records have")
        check_arms(record, stored)
        print_comparison(stored)
        return
    if isinstance(stored, ComparisonRecord):
        raise BadInput(f"{record} compares two runs: `wmel compare` says it anew from their rows")
    if isinstance(stored, RunRecord):
        card = run_scorecard(stored)
        print_scorecard(stored.metadata, card)
        text = to_markdown_scorecard(card)
    elif isinstance(stored, EsnrRecord):
        print_esnr(stored)
        text = to_markdown_esnr(stored)
    elif isinstance(stored, StudyRecord):
        print_study(stored)
        text = to_markdown_study(stored)
    else:
        curve = recorded_sweep(stored)
        print_sweep(stored.metadata, curve)
        text = to_markdown_horizon_sweep(curve)
    if markdown is not None:
        write_atomically(markdown, text)
        say_where(table=markdown)
