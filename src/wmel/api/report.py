"""wmel.report: the record and the pages of a study, written anew from its stored rows."""

from dataclasses import replace
from pathlib import Path

from wmel.analysis.rescore import rescored
from wmel.api import options as o
from wmel.api.episodes import check_outputs
from wmel.api.study import stored_study
from wmel.api.verbs import verb
from wmel.contract.cell import Cell, CellResult
from wmel.contract.criterion import Criterion
from wmel.contract.labels import swept_setting
from wmel.errors import BadInput
from wmel.experiments.folder_store import FolderStore
from wmel.experiments.load import load_study
from wmel.reports.any_record import FILES
from wmel.reports.records import write_record
from wmel.results import Result


@verb
def report(
    folder: o.Stored,
    *,
    output: o.Output = None,
    criterion: o.Criterion = None,
    quiet: o.Quiet = False,
) -> Result:
    """Write results.json, report.md and report.html from the rows of a study; nothing is run.

    They are written into its own folder unless OUTPUT is another. CRITERION judges the stored episodes anew.
    """
    into = Path(folder if output is None else output)
    files = {name: into / name for name in ("report.md", "report.html")}
    judged = Criterion.parse(criterion) if isinstance(criterion, str) else criterion
    store = FolderStore(Path(folder))
    loaded = load_study(store, rewards=judged is not None)
    check_outputs(into / FILES["study"], *files.values())
    if judged is not None:
        loaded = replace(loaded, results=rescore_results(loaded.results, judged))
    if loaded.verb["name"] in ("study", "cpg"):
        result = stored_study(loaded, store, judged)
    else:
        from wmel.api.load import stored_result

        result = stored_result(loaded, store)
    write_record(into / FILES[result.record.kind], result.record)
    for path in files.values():
        result.report(path)
    damaged = [f"{wrong}: left out; `wmel study` runs it again" for wrong in loaded.damaged]
    return replace(result, files={"report": files["report.html"]}, failures=damaged, folder=into)


def rescore_results(results: list[CellResult], criterion: Criterion) -> list[CellResult]:
    """Every run of a study judged anew from its stored rewards; those that cannot be are missing, with the reason."""
    by_key: dict[str, CellResult] = {}
    for one in (_rescored(one, criterion) for one in results):
        if one.cell.key not in by_key or by_key[one.cell.key].run is None:
            by_key[one.cell.key] = one
    judged = list(by_key.values())
    if not any(one.run is not None for one in judged):
        reasons = [one.failure for one in judged if one.failure]
        raise BadInput(reasons[0] if reasons else "there is nothing to judge: no episode is stored")
    return judged


def _rescored(one: CellResult, criterion: Criterion) -> CellResult:
    one = replace(one, cell=_judged_by(one.cell, str(criterion)))
    if one.run is None:
        return one
    try:
        table = rescored(one.run.table, criterion, horizon=one.run.horizon, stop=one.run.stop)
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
