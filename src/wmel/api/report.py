"""wmel.report: the page and the Markdown of any result, written from its stored rows or its record."""

from dataclasses import replace
from pathlib import Path

from wmel.analysis.rescore import rescore
from wmel.api import options as o
from wmel.api.episodes import check_outputs
from wmel.api.load import load, result_path, stored_result
from wmel.api.study import stored_study
from wmel.api.verbs import verb
from wmel.contract.cell import Cell, CellResult, swept_setting
from wmel.contract.criterion import Criterion
from wmel.errors import BadInput
from wmel.experiments.folder_store import FolderStore
from wmel.experiments.load import LoadedStudy, load_study
from wmel.reports.any_record import FILES
from wmel.reports.records import write_record
from wmel.reports.study_record import gap_title
from wmel.reports.terminal import render_terminal
from wmel.results import Result


@verb
def report(
    folder: o.Stored,
    *,
    output: o.Output = None,
    criterion: o.Criterion = None,
    quiet: o.Quiet = False,
) -> Result:
    """Write the report of any result as a page (.html) and as Markdown; nothing is run.

    Of stored rows the record is written anew too, and CRITERION judges the episodes by another criterion. The files
    are report.html and report.md in the result's own folder, or in OUTPUT; beside a record they have its name.
    """
    path, judged = result_path(folder), Criterion.parse(criterion) if isinstance(criterion, str) else criterion
    if FolderStore(path).exists:
        return _report_rows(path, Path(path if output is None else output), judged)
    if judged is not None:
        raise BadInput(f"{path} holds no rows to be judged by a criterion: give the folder of a run with its rows")
    result = load(path)
    into = Path(output) if output is not None else path.parent if path.is_file() else path
    name = path.stem if path.is_file() and output is None else "report"
    return replace(result, files=_write_pages(result, into, name), folder=into, lines=lambda: _first_lines(result))


def _report_rows(folder: Path, into: Path, criterion: Criterion | None) -> Result:
    """The report of a store, and its record."""
    store = FolderStore(folder)
    loaded = load_study(store, rewards=criterion is not None)
    check_outputs(into / FILES["study"], *_page_paths(into, "report").values())
    if criterion is not None:
        loaded = replace(loaded, results=rescore_results(loaded.results, criterion))
    result = stored_result(loaded, store) if criterion is None else _judged_result(loaded, store, criterion)
    if result.write is None:
        write_record(into / FILES[result.record.kind], result.record)
    else:
        result.write(into)
    damaged = [f"{wrong}: left out; `wmel study` runs it again" for wrong in loaded.damaged]
    files = _write_pages(result, into, "report")
    return replace(result, files=files, failures=damaged, folder=into, lines=lambda: _first_lines(result))


def _judged_result(loaded: LoadedStudy, store: FolderStore, criterion: Criterion) -> Result:
    """The result of rows that were judged by another criterion; a comparison becomes a study, which names it."""
    verb = loaded.verb["name"]
    if verb not in ("study", "cpg"):
        return stored_result(loaded, store)
    title = gap_title(loaded.results[0].cell.task.environment["name"]) if verb == "cpg" else loaded.name
    return stored_study(replace(loaded, name=title), store, criterion)


def _first_lines(result: Result) -> list[str]:
    """What is printed beside the path of the page: the answer and the first section."""
    return [result.answer] if result.document is None else render_terminal(result.document(), is_brief=True)


def _write_pages(result: Result, into: Path, name: str) -> dict[str, Path]:
    """Write the page and the Markdown of a result; the page is what a reader is sent to."""
    paths = _page_paths(into, name)
    check_outputs(*paths.values())
    for path in paths.values():
        result.report(path)
    return {"report": paths["report"]}


def _page_paths(into: Path, name: str) -> dict[str, Path]:
    return {"markdown": into / f"{name}.md", "report": into / f"{name}.html"}


def rescore_results(results: list[CellResult], criterion: Criterion) -> list[CellResult]:
    """Every run of a study judged anew from its stored rewards; those that cannot be are missing, with the reason."""
    by_key: dict[str, CellResult] = {}
    for one in (_rescored(one, criterion) for one in results):
        if one.cell.key not in by_key or by_key[one.cell.key].run is None:
            by_key[one.cell.key] = one
    judged = list(by_key.values())
    if not any(one.run is not None for one in judged):
        reasons = [one.failure for one in judged if one.failure]
        raise BadInput(reasons[0] if reasons else "there is nothing to judge: no episode was stored")
    return judged


def _rescored(one: CellResult, criterion: Criterion) -> CellResult:
    one = replace(one, cell=_judged_by(one.cell, str(criterion)))
    if one.run is None:
        return one
    try:
        table = rescore(one.run.table, criterion, horizon=one.run.horizon, stop=one.run.stop)
    except BadInput as error:
        return replace(one, run=None, missing=one.cell.episodes, failure=str(error))
    return replace(one, run=replace(one.run, success=str(criterion), table=table))


def _judged_by(cell: Cell, criterion: str) -> Cell:
    """The cell with another criterion, also where the study swept it: of cells that differ in it alone one is left."""
    swept = [one for one in cell.labels if swept_setting(one, cell.parts, cell.sweeps) == ("criterion", "criterion")]
    labels, shared = (
        {name: value for name, value in some.items() if name not in swept} for some in (cell.labels, cell.shared_labels)
    )
    return replace(cell, task=replace(cell.task, criterion=criterion), labels=labels, shared_labels=shared)
