"""wmel.show: a stored record, checked, and shown again from its rows."""

from functools import partial
from pathlib import Path

from wmel.api import options as o
from wmel.api.episodes import check_outputs
from wmel.api.sweep import draw_sweep
from wmel.errors import BadInput, BadRecord
from wmel.files import write_atomically
from wmel.reports.compare_envelope import ComparisonRecord
from wmel.reports.cpg_record import FILE, check_arms
from wmel.reports.esnr_envelope import EsnrRecord
from wmel.reports.json_envelope import CPGRecord, RunRecord
from wmel.reports.markdown import to_markdown_horizon_sweep, to_markdown_scorecard
from wmel.reports.records import read_record, recorded_sweep, run_scorecard
from wmel.reports.study_envelope import StudyRecord
from wmel.reports.study_markdown import to_markdown_study
from wmel.reports.study_rows import study_rows
from wmel.reports.terminal import compare_lines, esnr_lines, gap_lines, scorecard_lines, study_lines, sweep_lines
from wmel.reports.words import answer_of_gap, answer_of_run, answer_of_sweep
from wmel.results import Result

RECORDS = (FILE, "run.json", "sweep.json", "esnr.json", "results.json")


@o.verb
def show(
    record: o.Stored,
    *,
    markdown: o.Markdown = None,
) -> Result:
    """Check a stored record and show what it holds, computed anew from its rows."""
    check_outputs(markdown)
    result = shown_record(Path(record))
    if markdown is None:
        return result
    if result.markdown is None:
        raise BadInput("a comparison of models has no Markdown yet; its arms' own records have")
    write_atomically(Path(markdown), result.markdown())
    result.files = {"table": Path(markdown)}
    return result


def shown_folder(folder: Path) -> Result:
    """The record in a folder that is no store."""
    for name in RECORDS:
        if (folder / name).is_file():
            return shown_record(folder / name)
    raise BadRecord(f"{folder} holds no result of wmel: no study.json, {', '.join(RECORDS)}")


def shown_record(path: Path) -> Result:
    """A record as the result it was written from, as far as it goes."""
    record = read_record(path)
    if isinstance(record, CPGRecord):
        check_arms(path, record)
        rows = [{"model": name, "gap": one.gap, "verdict": one.verdict} for name, one in record.cpgs.items()]
        return Result(answer_of_gap(record), rows, record, gap_lines(record), folder=path.parent)
    if isinstance(record, ComparisonRecord):
        rows = [{"task": one.task, "difference": one.success_delta.value, "pairs": one.pairs} for one in record.tasks]
        return Result(f"{record.run_b} against {record.run_a}", rows, record, compare_lines(record))
    if isinstance(record, RunRecord):
        card = run_scorecard(record)
        rows = [
            {"metric": name, "value": one.value, "low": one.low, "high": one.high}
            for name, one in card.estimates.items()
        ]
        lines, text = scorecard_lines(record.metadata, card), to_markdown_scorecard(card)
        return Result(answer_of_run(record), rows, record, lines, markdown=lambda: text, more={"scorecard": card})
    if isinstance(record, EsnrRecord):
        from wmel.reports.esnr_page import to_markdown_esnr

        rows = [{"model": one.model, "method": one.method, "esnr": one.esnr.value} for one in record.readings]
        lines = esnr_lines(record)
        return Result(lines[0], rows, record, lines, markdown=lambda: to_markdown_esnr(record))
    if isinstance(record, StudyRecord):
        rows, lines = study_rows(record), study_lines(record)
        return Result(record.name, rows, record, lines, markdown=lambda: to_markdown_study(record))
    curve = recorded_sweep(record)
    rows = [{**(point.swept or {"plan_horizon": point.plan_horizon}), "success": point.scorecard.success_rate}
            for point in record.points]  # fmt: skip
    text, lines = to_markdown_horizon_sweep(curve), sweep_lines(record, curve)
    draw = partial(draw_sweep, record)
    return Result(answer_of_sweep(record), rows, record, lines, draw=draw, markdown=lambda: text)
