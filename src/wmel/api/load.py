"""wmel.load, wmel.show and wmel.report: the result that a folder or a record holds, and its page."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from wmel.analysis.scorecard import rescore
from wmel.api import options as o
from wmel.api.episodes import Outputs, check_outputs, record_outputs, write_outputs
from wmel.api.study import stored_study
from wmel.api.train import CARD, stored_training
from wmel.api.verbs import verb
from wmel.contract.cell import Cell, CellResult, swept_setting
from wmel.contract.criterion import Criterion
from wmel.errors import BadInput, BadRecord
from wmel.experiments.folder_store import FolderStore
from wmel.experiments.load import LoadedStudy, load_study, rows_of_points
from wmel.experiments.store import MANIFEST, Store
from wmel.reports.esnr_record import READINGS, earlier_trainings
from wmel.reports.record_types import CPGRecord
from wmel.reports.records import FILES, AnyRecord, read_record
from wmel.reports.study_record import gap_title, recorded_arms
from wmel.reports.terminal import render_terminal
from wmel.results import Result
from wmel.schema import SweepPoint

STORED = {  # verb -> what makes its result from a store
    "run": "wmel.api.run:stored_run",
    "sweep": "wmel.api.sweep:stored_sweep",
    "cpg": "wmel.api.cpg:stored_gap",
    "diagnose": "wmel.api.study:stored_study",
    "esnr": "wmel.api.esnr:stored_esnr",
    "esnr_over_training": "wmel.api.over_training:stored_trainings",
    "study": "wmel.api.study:stored_study",
}
RECORDED = {  # kind of a record -> the verb whose result is made from it
    "run": "run",
    "sweep": "sweep",
    "cpg": "cpg",
    "esnr": "esnr",
    "over-training": "over_training",
    "toy": "toy",
    "study": "study",
    "comparison": "compare",
    "power": "power",
    "check": "check",
}


@verb
def load(folder: o.Stored) -> Result:
    """Any result of any verb: its folder, or its record (.json)."""
    path = result_path(folder)
    if path.name == CARD:
        return stored_training(path.parent)
    if path.is_file():
        return _load_record(path)
    store = FolderStore(path)
    if store.exists:
        return stored_result(load_study(store, rewards=True), store)
    for name in FILES.values():
        if (path / name).is_file():
            return _load_record(path / name)
    if (path / CARD).is_file():
        return stored_training(path)
    if (path / READINGS).is_dir():
        return _import_function("wmel.api.over_training:trainings_result")(earlier_trainings(path))
    if not path.exists():
        raise BadRecord(f"cannot read {path}: there is no such file or folder")
    raise BadRecord(f"{path} holds no result of wmel: no {', '.join((MANIFEST, CARD, *FILES.values()))}")


def result_path(place: Path | str) -> Path:
    """A folder or a record; the manifest of a store stands for its folder."""
    path = Path(place)
    return path.parent if path.name == MANIFEST else path


def stored_result(loaded: LoadedStudy, store: Store) -> Result:
    """The result of the verb that filled a store."""
    verb = loaded.verb.get("name")
    if verb not in STORED:
        raise BadRecord(f"the store was written by {verb!r}, which this version of wmel does not have")
    if not loaded.readings and not any(one.run is not None for one in loaded.results) and verb != "study":
        raise BadRecord(f"no episode of this {verb} is stored yet: run the same command again")
    result = _import_function(STORED[verb])(loaded, store)
    if verb in ("run", "sweep"):  # the reports of the others list incomplete cells
        result.failures = [*result.failures, *_incomplete_cells(loaded)]
    return result


def _incomplete_cells(loaded: LoadedStudy) -> list[str]:
    """A line for each cell with fewer episodes than were requested."""
    return [
        f"{one.cell.name}: {one.missing} of {one.cell.episodes} episodes are missing: "
        f"{one.failure or 'they have not been run'}"
        for one in loaded.results
        if one.missing
    ]


def recorded_result(record: AnyRecord, folder: Path) -> Result:
    """The result a record was written from; `folder` is where the record lies."""
    make = _import_function(f"wmel.api.{RECORDED[record.kind]}:recorded_result")
    result = make(record, folder) if record.kind == "cpg" else make(record)
    points, arms = _recorded_points(result)
    if points:
        result.recorded = lambda: rows_of_points(points, arms)
    return result


def _recorded_points(result: Result) -> tuple[list[SweepPoint], list[str]]:
    """The runs whose rows a record holds, and the names of their arms where they have any."""
    if result.verb == "sweep":
        return result.points, []
    if result.verb == "run":
        return [SweepPoint({}, result.run)], []
    runs = result.arms.by_name if "arms" in result.more else {}
    return [SweepPoint({}, run) for run in runs.values()], list(runs)


def _load_record(path: Path) -> Result:
    """The result of a record, with the rows of the store it lies in."""
    record, store = read_record(path), FolderStore(path.parent)
    try:
        result = recorded_result(record, path.parent)
    except BadRecord as error:
        raise BadRecord(f"{path} is damaged: {error}") from error
    if not store.exists:
        return result
    loaded = load_study(store, rewards=True)
    if record.kind not in ("study", loaded.verb.get("name")):
        return result
    result.store, result.folder = store, path.parent
    if record.kind == "study":
        if record.rescored is not None:
            loaded = replace(loaded, results=rescore_results(loaded.results, Criterion.parse(record.rescored)))
        stored = stored_study(loaded, store)
        result.verb, result.more = stored.verb, stored.more
    return result


def _import_function(place: str) -> Callable[..., Any]:
    """A function that is imported when it is needed."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


@verb
def show(
    record: o.Stored,
    *,
    markdown: o.Markdown = None,
) -> Result:
    """Check a stored record, or the folder of any verb, and show what it holds, computed anew from its rows."""
    check_outputs(markdown)
    path = Path(record)
    if path.is_dir() or path.name == CARD:
        result = load(path)
    else:
        stored = read_record(path)
        if isinstance(stored, CPGRecord):
            recorded_arms(path, stored)  # refused where it does not follow from them
        result = recorded_result(stored, path.parent)
    result.files = write_outputs(result, record_outputs(result, None, markdown))
    return result


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
    return _with_pages(result, into, name, {})


def _report_rows(folder: Path, into: Path, criterion: Criterion | None) -> Result:
    """The report of a store, and its record."""
    store = FolderStore(folder)
    loaded = load_study(store, rewards=criterion is not None)
    check_outputs(into / FILES["study"], *_page_paths(into, "report").values())
    if criterion is not None:
        loaded = replace(loaded, results=rescore_results(loaded.results, criterion))
    result = stored_result(loaded, store) if criterion is None else _judged_result(loaded, store, criterion)
    damaged = [f"{wrong}: left out; `wmel study` runs it again" for wrong in loaded.damaged]
    others = [one for one in result.failures if not any(wrong in one for wrong in loaded.damaged)]
    result.failures = [*damaged, *others]
    records = record_outputs(result, into / FILES[result.record.kind], None)
    return _with_pages(result, into, "report", records if result.write is None else {"records": (into, result.write)})


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


def _with_pages(result: Result, into: Path, name: str, records: Outputs) -> Result:
    """The result, its records, page and Markdown written; the page is what a reader is sent to."""
    paths = _page_paths(into, name)
    check_outputs(*paths.values())
    written = write_outputs(result, {**records, **{what: (path, result.report) for what, path in paths.items()}})
    files = {what: path for what, path in written.items() if what == "report"}
    return replace(result, files=files, folder=into, lines=lambda: _first_lines(result))


def _page_paths(into: Path, name: str) -> dict[str, Path]:
    return {"markdown": into / f"{name}.md", "report": into / f"{name}.html"}


def rescore_results(results: list[CellResult], criterion: Criterion) -> list[CellResult]:
    """Every run of a study judged anew from its stored rewards; those that cannot be are missing, with the reason."""
    by_key: dict[str, CellResult] = {}
    for one in (_rescore_result(one, criterion) for one in results):
        if one.cell.key not in by_key or by_key[one.cell.key].run is None:
            by_key[one.cell.key] = one
    judged = list(by_key.values())
    if not any(one.run is not None for one in judged):
        reasons = [one.failure for one in judged if one.failure]
        raise BadInput(reasons[0] if reasons else "there is nothing to judge: no episode was stored")
    return judged


def _rescore_result(one: CellResult, criterion: Criterion) -> CellResult:
    one = replace(one, cell=_replace_criterion(one.cell, str(criterion)))
    if one.run is None:
        return one
    try:
        table = rescore(one.run.table, criterion, horizon=one.run.horizon, stop=one.run.stop)
    except BadInput as error:
        return replace(one, run=None, missing=one.cell.episodes, failure=str(error))
    return replace(one, run=replace(one.run, success=str(criterion), table=table))


def _replace_criterion(cell: Cell, criterion: str) -> Cell:
    """The cell with another criterion, also where the study swept it: of cells that differ in it alone one is left."""
    swept = [one for one in cell.labels if swept_setting(one, cell.parts, cell.sweeps) == ("criterion", "criterion")]
    labels, shared = (
        {name: value for name, value in some.items() if name not in swept} for some in (cell.labels, cell.shared_labels)
    )
    return replace(cell, task=replace(cell.task, criterion=criterion), labels=labels, shared_labels=shared)
