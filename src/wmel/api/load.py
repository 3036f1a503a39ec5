"""wmel.load and wmel.show: the result that a folder or a record holds."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from wmel.api import options as o
from wmel.api.episodes import check_outputs
from wmel.api.train import CARD, stored_training
from wmel.api.verbs import verb
from wmel.contract.criterion import Criterion
from wmel.errors import BadRecord
from wmel.experiments.folder_store import FolderStore
from wmel.experiments.load import LoadedStudy, load_study, rows_of_points
from wmel.experiments.store import MANIFEST, Store
from wmel.files import write_atomically
from wmel.reports.any_record import FILES, AnyRecord
from wmel.reports.cpg_record import recorded_arms
from wmel.reports.json_envelope import CPGRecord
from wmel.reports.over_training_curves import READINGS, earlier_trainings
from wmel.reports.records import read_record
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
        return _of_file(path)
    store = FolderStore(path)
    if store.exists:
        return stored_result(load_study(store, rewards=True), store)
    for name in FILES.values():
        if (path / name).is_file():
            return _of_file(path / name)
    if (path / CARD).is_file():
        return stored_training(path)
    if (path / READINGS).is_dir():
        return _from("wmel.api.over_training:trainings_result")(earlier_trainings(path))
    if not path.exists():
        raise BadRecord(f"cannot read {path}: there is no such file or folder")
    raise BadRecord(f"{path} holds no result of wmel: no {', '.join((MANIFEST, CARD, *FILES.values()))}")


def result_path(given: Path | str) -> Path:
    """A folder or a record; the manifest of a store stands for its folder."""
    path = Path(given)
    return path.parent if path.name == MANIFEST else path


def stored_result(loaded: LoadedStudy, store: Store) -> Result:
    """The result of the verb that filled a store."""
    verb = loaded.verb.get("name")
    if verb not in STORED:
        raise BadRecord(f"the store was written by {verb!r}, which this version of wmel does not have")
    if not loaded.readings and not any(one.run is not None for one in loaded.results) and verb != "study":
        raise BadRecord(f"no episode of this {verb} is stored yet: run the same command again")
    return _from(STORED[verb])(loaded, store)


def recorded_result(record: AnyRecord, folder: Path) -> Result:
    """The result a record was written from; `folder` is where the record lies."""
    make = _from(f"wmel.api.{RECORDED[record.kind]}:recorded_result")
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


def _of_file(path: Path) -> Result:
    """The result of a record, with the rows of the store it lies in."""
    record = read_record(path)
    result, store = recorded_result(record, path.parent), FolderStore(path.parent)
    if not store.exists:
        return result
    loaded = load_study(store, rewards=True)
    if record.kind not in ("study", loaded.verb.get("name")):
        return result
    result.store, result.folder = store, path.parent
    if record.kind == "study":
        from wmel.api.report import rescore_results
        from wmel.api.study import stored_study

        if record.rescored is not None:
            loaded = replace(loaded, results=rescore_results(loaded.results, Criterion.parse(record.rescored)))
        result.more = stored_study(loaded, store).more
    return result


def _from(place: str) -> Callable[..., Any]:
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
    if markdown is None:
        return result
    write_atomically(Path(markdown), result.to_markdown())
    result.files = {"table": Path(markdown)}
    return result
