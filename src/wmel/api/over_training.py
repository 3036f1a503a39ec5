"""wmel.esnr_over_training: ESNR at every checkpoint of trainings, and whether it falls before it rises."""

import csv
import math
import os
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

from wmel.api import options as o
from wmel.api.diagnose import diagnostic_settings, read_models, reading_study, refuse_several_seeds
from wmel.api.episodes import check_outputs, folder_of, write_outputs
from wmel.api.esnr import collector_of
from wmel.api.study_entries import EntryBuilder
from wmel.api.verbs import verb
from wmel.errors import BadInput
from wmel.experiments.load import LoadedStudy
from wmel.experiments.store import Store
from wmel.files import read_text
from wmel.reports.analysis_record_types import OverTrainingRecord
from wmel.reports.document import draw_figure, plotly_needed
from wmel.reports.esnr_record import (
    TrainingReadings,
    joined_esnr_record,
    over_training_record,
    read_numbers,
    recorded_trainings,
    written_numbers,
)
from wmel.results import Result


@verb
def esnr_over_training(
    runs: Annotated[
        Sequence[Path | str],
        o.Option(
            "Folders with checkpoints/ in them, one per training seed.", "paths", is_argument=True, metavar="RUN..."
        ),
    ],
    environment: o.Environment,
    *,
    output: o.Folder,
    beside: Annotated[
        Path | str | None,
        o.Option("CSV with run, updates and numbers (return, cpg) to draw and correlate.", "path"),
    ] = None,
    **options: Annotated[Any, o.ReadingOptions, o.SettingsOf("diagnostic", "esnr")],
) -> Result:
    """Measure ESNR at every checkpoint of one or more trainings, and report whether it is U-shaped.

    OUTPUT holds the readings and over-training.html; the same command continues from there.
    """
    refuse_several_seeds(options["seeds"])
    with plotly_needed():
        import wmel.reports.esnr_figures  # noqa: F401  # before checkpoints are read
    folders = [Path(runs)] if isinstance(runs, str | Path) else [Path(run) for run in runs]
    found, folder = runs_of(folders), Path(output)
    numbers = read_beside(None if beside is None else Path(beside), found)
    page, markdown = folder / "over-training.html", folder / "over-training.md"
    check_outputs(page, markdown)
    builder = EntryBuilder.of_options(options)
    named = {f"{run}@{updates}": str(at) for run, known in found.items() for updates, at in known.items()}
    entries = builder.models(named)
    wanted = {"noise": "own", **builder.beside("diagnostic", "esnr", diagnostic_settings(options))}
    written = {run: written_numbers(columns) for run, columns in numbers.items()}
    stored = {"name": "esnr_over_training", "beside": written}
    diagnostic = {"name": "esnr", **collector_of(entries, wanted), **wanted}
    study = reading_study(builder, environment, entries, diagnostic, options, stored)
    result = read_models(builder, study, folder, options, stored_trainings)
    result.files = write_outputs(result, {"page": (page, result.report), "markdown": (markdown, result.report)})
    return result


def stored_trainings(loaded: LoadedStudy, store: Store) -> Result:
    """The result from the stored readings; a model is called RUN@UPDATES."""
    records: dict[str, dict[int, Any]] = {}
    for cell, read in loaded.readings:
        if read is not None:
            run, _, updates = cell.arm.rpartition("@")
            found = joined_esnr_record([read["data"]], read["provenance"]["versions"])
            records.setdefault(run, {})[int(updates)] = found
    if not records:
        raise BadInput("nothing was read")
    beside = loaded.verb["beside"]
    trainings = [TrainingReadings(run, known, read_numbers(beside.get(run, {}))) for run, known in records.items()]
    return trainings_result(trainings, store)


def recorded_result(record: OverTrainingRecord) -> Result:
    """The result from its record."""
    return trainings_result(recorded_trainings(record))


def trainings_result(trainings: Sequence[TrainingReadings], store: Store | None = None) -> Result:
    """The result of trainings whose checkpoints were read."""
    from wmel.reports.over_training_report import answer_words, over_training_document

    rows = [
        {"run": one.name, "updates": updates, "method": entry.method, "esnr": entry.esnr.value,
         "low": entry.esnr.low, "high": entry.esnr.high,
         "alignment": None if entry.alignment is None else entry.alignment.cosine.value}
        for one in trainings
        for updates, record in one.records.items()
        for entry in record.readings
        if entry.model != "oracle"
    ]  # fmt: skip
    return Result(
        answer_words(trainings),
        rows,
        cache(lambda: over_training_record(trainings)),
        verb="esnr_over_training",
        folder=folder_of(store),
        store=store,
        draw=partial(draw_figure, "esnr_figures:ratios_figure", trainings, trainings[0].methods[0]),
        document=lambda: over_training_document(trainings),
        prints_rows=True,
        more={"trainings": trainings},
    )


KEYS = ("run", "updates")


def runs_of(folders: Sequence[Path]) -> dict[str, dict[int, Path]]:
    """The checkpoints of every run by name and updates; a run is called as its folder."""
    found = {Path(os.path.realpath(folder)).name: checkpoints_of(folder) for folder in folders}
    if len(found) < len(folders):
        raise BadInput(f"each run needs a name of its own, got {', '.join(map(str, folders))}")
    return found


def checkpoints_of(run: Path) -> dict[int, Path]:
    """Folders in RUN/checkpoints named by their updates, rising; one without a card is not whole and is left out."""
    from wmel.training.checkpoints import CARD, CHECKPOINTS

    folder = run / CHECKPOINTS
    if not folder.is_dir():
        raise BadInput(f"{run} has no folder {CHECKPOINTS}: train with --checkpoints to have one")
    named = [one for one in folder.iterdir() if one.name.isdecimal() and (one / CARD).is_file()]
    if not named:
        raise BadInput(f"{folder} holds no checkpoint: they are folders named by their updates, such as 0000100")
    found = {int(one.name): one for one in sorted(named, key=lambda one: int(one.name))}
    if len(found) < len(named):
        raise BadInput(f"two checkpoints in {folder} have the same number of updates")
    return found


def read_beside(path: Path | None, runs: Mapping[str, Mapping[int, object]]) -> dict[str, dict[str, dict[int, float]]]:
    """Numbers by run, column and updates, of a CSV file with the columns run, updates and at least one more.

    An empty cell is no number; rows between checkpoints are drawn, and correlated with nothing.
    """
    found: dict[str, dict[str, dict[int, float]]] = {name: {} for name in runs}
    if path is None:
        return found
    header, rows = _table(path)
    names = [name for name in header if name not in KEYS]
    if len(names) + len(KEYS) != len(header) or not names or len(set(header)) < len(header) or "" in header:
        wanted = "run, updates and one or more others, each once"
        raise BadInput(f"{path} must have the columns {wanted}; it has {', '.join(header) or 'none'}")
    for line, row in enumerate(rows, 2):
        if not row:
            continue
        if len(row) != len(header):
            raise BadInput(f"line {line} of {path} has {len(row)} cells, and the header {len(header)}")
        cells = dict(zip(header, map(str.strip, row), strict=True))
        run, updates = cells.pop("run"), _whole(cells.pop("updates"), line, path)
        if run not in found:
            raise BadInput(f"line {line} of {path} is of a run {run!r}; those read here: {', '.join(runs)}")
        for name, text in cells.items():
            column = found[run].setdefault(name, {})
            if updates in column:
                raise BadInput(f"line {line} of {path} has {updates} updates of {run} a second time")
            column[updates] = _number(text, name, line, path)
    if not any(runs[run].keys() & column.keys() for run, columns in found.items() for column in columns.values()):
        raise BadInput(f"no line of {path} has the updates of a checkpoint")
    return found


def _table(path: Path) -> tuple[list[str], list[list[str]]]:
    try:
        lines = list(csv.reader(read_text(path).removeprefix("\ufeff").splitlines(), strict=True))
    except csv.Error as error:
        raise BadInput(f"cannot read {path}: {error}") from error
    return ([name.strip() for name in lines[0]] if lines else []), lines[1:]


def _whole(text: str, line: int, path: Path) -> int:
    if not text.isdecimal():
        raise BadInput(f"line {line} of {path}: updates must be a whole number, got {text!r}")
    return int(text)


def _number(text: str, name: str, line: int, path: Path) -> float:
    """NaN where the cell is empty."""
    try:
        value = float(text) if text else math.nan
    except ValueError:
        raise BadInput(f"line {line} of {path}: {name} must be a number, got {text[:40]!r}") from None
    if text and not math.isfinite(value):
        raise BadInput(f"line {line} of {path}: {name} must be finite or empty, got {text!r}")
    return value
