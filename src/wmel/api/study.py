"""wmel.study: run what is missing of an experiment that a TOML file, or a dict, describes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Unpack

from wmel.analysis.pooling import study_comparisons
from wmel.analysis.verdict import paper_rule
from wmel.api import options as o
from wmel.api.episodes import build_executor, folder_of, listener_for, steps_output, when_changed, write_outputs
from wmel.api.live_parts import describe_environment, metric_entry, with_recipe
from wmel.api.study_entries import KINDS, EntryBuilder
from wmel.api.sweep_keys import with_settings
from wmel.api.verbs import verb
from wmel.arrays import keep_freed_memory
from wmel.catalog import preset_settings, settings_by_preset
from wmel.contract.criterion import Criterion
from wmel.errors import BadInput
from wmel.experiments.expand import Study, study_of
from wmel.experiments.folder_store import FolderStore
from wmel.experiments.load import LoadedStudy, check_steps_path, load_study, study_tables
from wmel.experiments.resume import Changed, refuse_other_result
from wmel.experiments.run import RunOptions, paths_of, run_study, select_cells
from wmel.experiments.spec import ENTRY_KINDS, parse_study
from wmel.experiments.store import Store
from wmel.files import read_toml
from wmel.reports.analysis_record_types import EsnrRecord, StudyRecord
from wmel.reports.cells import count_words
from wmel.reports.document import draw_figure
from wmel.reports.esnr_record import joined_esnr_record
from wmel.reports.study_gaps import study_answer, study_gaps, study_intervals
from wmel.reports.study_readings import ESNR, reading_entries, side_by_side
from wmel.reports.study_record import study_record
from wmel.reports.study_report import study_document
from wmel.reports.study_tables import study_rows
from wmel.results import LazyValue, Result


@verb
def study(
    study: Annotated[Any, o.Option("The study, as TOML.", "path", is_argument=True, metavar="FILE")],
    *,
    dry_run: Annotated[
        bool, o.Option("Print what is left to run and an estimate of the time; store nothing.", "flag")
    ] = False,
    only: Annotated[str | None, o.Option("Cells whose name fits a pattern: '*/cem*'.")] = None,
    limit: Annotated[int | None, o.Option("Run only this many cells, the first ones.", "whole", at_least=1)] = None,
    anytime: o.Anytime = False,
    **options: Unpack[o.StudyOptions],
) -> Result:
    """Run what is missing of a study and store it, by default in runs/<file name>; the same call continues it."""
    keep_freed_memory()
    builder = EntryBuilder.of(options["settings"], model={"device": options["device"]})
    device = builder.settings["model"].pop("device", None)
    whole = _study(study, builder, options["preset"])
    builder.refuse_unused("executor")
    folder = Path(options["output"]) if options["output"] is not None else Path("runs") / _name(study)
    steps = None if options["trajectories"] is None else Path(options["trajectories"])
    how = RunOptions(
        only,
        limit,
        build_executor(builder, options["executor"] or whole.executor or "serial", options["workers"]),
        anytime,
        when_changed(options["rerun"], options["keep"]),
        device or "cpu",
        trajectories=steps is not None,
    )
    store = FolderStore(folder)
    if dry_run:
        return _dry_run(whole, store, how, quiet=options["quiet"])
    if steps is not None:
        check_steps_path(steps, select_cells(whole.cells, how))
    with listener_for(whole.name, quiet=options["quiet"]) as listener:
        summary = run_study(whole, store, how, listener)
    failed = sum(map(len, summary.failed.values()))
    done = ", ".join(
        (
            f"{count_words(summary.trained, 'model')} trained",
            f"{count_words(summary.episodes, 'episode')} run",
            count_words(failed, "failure"),
        )
    )
    result = stored_study(load_study(store), store)
    read = count_words(summary.readings, "reading") if whole.diagnostics else ""
    lines = [
        ", ".join(word for word in (done, read) if word),
        f"store: {folder}; look at it with: wmel report {folder}",
    ]
    result = replace(
        result,
        lines=lines,
        exit_code=1 if summary.failures else 0,
        failures=summary.failures,
        folder=folder,
        more={**result.more, "summary": summary},
    )
    result.files = write_outputs(result, steps_output(steps, store, select_cells(whole.cells, how)))
    return result


def _study(study: Any, builder: EntryBuilder, preset: str | None) -> Study:
    """The study of a file or a dict, with the settings and the preset given beside it."""
    if isinstance(study, Study):
        if preset is not None or any(builder.settings[kind] for kind in builder.settings if kind != "executor"):
            raise BadInput("a Study has its settings; give a file or a dict to change some")
        return study
    if isinstance(study, Mapping):
        return _study_of_objects(_with_preset(study, preset), builder)
    if not isinstance(study, str | Path):
        raise BadInput(f"a study is a TOML file or a dict, got {study!r}")
    data, text = read_toml(Path(study))
    return study_of(parse_study(with_settings(_with_preset(data, preset), builder), text, Path(study)))


def _with_preset(data: Mapping[str, Any], preset: str | None) -> Mapping[str, Any]:
    if preset is None:
        return data
    if data.get("preset") not in (None, preset):
        raise BadInput(f"preset is given twice, as {data['preset']!r} by the study and as {preset!r}: leave one out")
    return {**data, "preset": preset}


def _study_of_objects(data: Mapping[str, Any], builder: EntryBuilder) -> Study:
    """The study of a dict, which may hold objects wherever a TOML file has tables."""
    entries = {**data}
    for name, kind in ENTRY_KINDS.items():
        listed = data.get(name)
        if kind == "model" and isinstance(listed, Mapping):
            entries[name] = [builder.model_entry(own, one) for own, one in listed.items()]
        elif isinstance(listed, list | tuple):
            builder.reserved |= {(kind, named) for one in listed if (named := _catalogue_name(kind, one)) is not None}
            entries[name] = [_study_entry(builder, kind, one, data.get("preset")) for one in listed]
    if isinstance(data.get("metrics"), list | tuple):
        entries["metrics"] = [metric_entry(one) for one in data["metrics"]]
    entries = with_settings(entries, builder)
    executor = data.get("executor")
    if isinstance(executor, str | Mapping | None):
        return study_of(parse_study(entries, objects=builder.objects), builder.objects)
    del entries["executor"]
    return replace(study_of(parse_study(entries, objects=builder.objects), builder.objects), executor=executor)


def _catalogue_name(kind: str, one: Any) -> str | None:
    """The name of an entry that the catalogue builds; None for a live part that it cannot build."""
    if isinstance(one, str):
        return one
    is_environment = kind == "environment" and not isinstance(one, Mapping) and hasattr(one, "spec")
    data = describe_environment(one) if is_environment else one
    named = data.get("name") if isinstance(data, Mapping) else None
    return named if isinstance(named, str) else None


def _study_entry(builder: EntryBuilder, kind: str, one: Any, preset: str | None) -> Any:
    """An entry of a study's list; tables and names are read as those of a file, and the preset is for them."""
    if kind == "criterion":
        return {"criterion": str(one)} if isinstance(one, Criterion) else one
    if isinstance(one, Mapping):
        return with_recipe(one) if kind == "model" else one
    if isinstance(one, str) and kind != "model":
        return one
    if kind == "model":
        return builder.model_entry(None, one)
    part, registry = builder.part(kind, one), KINDS[kind]
    if part.get("given") or registry is None:
        return part
    replaced = settings_by_preset(preset_settings(preset), registry, part["name"])
    return {**{name: registry.settings_of(part["name"])[name].default for name in replaced}, **part}


def _name(study: Any) -> str:
    if isinstance(study, str | Path):
        return Path(study).stem
    return study.name if isinstance(study, Study) else str(study.get("name", "study"))


def stored_study(loaded: LoadedStudy, store: Store, criterion: Criterion | None = None) -> Result:
    """The result of a study from its stored rows and readings; `criterion` replaces the one of the study."""
    results = loaded.results
    compared = study_comparisons(results, anytime=loaded.anytime)
    rescored_by = None if criterion is None else str(criterion)
    read = reading_entries(loaded.readings)
    how = {"rescored": rescored_by, "metrics": loaded.metrics, "readings": read, "unread": loaded.unread}
    verb = "diagnose" if loaded.verb["name"] == "diagnose" else "study"
    rule = paper_rule(loaded.verb)
    record = study_record(loaded.name, loaded.about, results, compared, verb=verb, **rule, **how)
    readings = _readings(loaded)
    result = recorded_result(record, readings)
    result.store, result.folder = store, folder_of(store)
    result.more = {
        "results": results,
        "readings": readings,
        "comparisons": compared.comparisons,
        "cells": LazyValue(lambda: study_tables(store).cells),
    }
    return result


def recorded_result(record: StudyRecord, readings: Sequence[EsnrRecord] = ()) -> Result:
    """The result of a study from its record, and the readings stored beside it."""
    intervals = study_intervals(record)
    return Result(
        f"{record.name}: {study_answer(record)}",
        study_rows(record),
        record,
        verb=record.verb,
        draw=(lambda: _figure(record)) if study_gaps(record) or intervals is not None else None,
        intervals=intervals,
        document=lambda: study_document(record, readings),
        more={"readings": list(readings)},
    )


def _readings(loaded: LoadedStudy) -> list[EsnrRecord]:
    """Records of ESNR that was read of several models at the same states, with the same settings."""
    return [
        joined_esnr_record([found["data"] for _, found in group], group[0][1]["provenance"]["versions"])
        for group in side_by_side(loaded.readings)
        if group[0][0].diagnostic["name"] == ESNR
    ]


def _dry_run(study: Study, store: FolderStore, options: RunOptions, *, quiet: bool) -> Result:
    from wmel.experiments.check import check_cells, check_diagnostics
    from wmel.experiments.forecast import forecast

    if store.exists:
        refuse_other_result(store, study)
    cells, readings = (select_cells(some, options) for some in (study.cells, study.diagnostics))
    paths = paths_of(study, store, options)
    check_cells(cells, paths, needs_criterion=True)
    check_diagnostics(readings, paths)
    workers = None if options.executor.workers == 1 else options.executor.workers
    with listener_for("", quiet=quiet) as listener:
        for line in study.notes:
            listener.note(line)
        left = forecast(cells, readings, store, paths, study.block, workers, listener.note)
    done = f", {left.whole} of them stored" if left.whole else ""
    most = "at most " if options.anytime else ""
    counts = f"{count_words(left.cells, 'cell')}{done}; {most}{count_words(left.episodes, 'episode')} to run"
    counts += f", {count_words(left.models, 'model')} to train"
    counts += f", {count_words(left.readings, 'reading')} to take" if readings else ""
    untimed = "" if left.untimed == 0 else f", without {left.untimed} readings of unknown duration"
    time = f"about {most}{_duration(left.seconds)}, processes: {options.executor.workers}{untimed}"
    changed = _changed_words(left.changed, options.when_changed)
    rows = [{"cells": left.cells, "stored": left.whole, "episodes": left.episodes, "models": left.models,
             "readings": left.readings, "changed": len(left.changed), "seconds": left.seconds}]  # fmt: skip
    return Result(counts, rows, lines=[counts, time, *changed], verb="dry run", more={"forecast": left})


def _changed_words(changed: Sequence[Changed], how: str | None) -> list[str]:
    """What the study would do about cells that were made with something else."""
    if not changed:
        return []
    what = {None: "the study refuses them unless the option rerun or keep is used", "rerun": "they would be run again"}
    words = f"{len(changed)} cells were computed with other {', '.join(changed[0].differences[:3])}"
    return [f"{words}: {what.get(how, 'whole ones are kept')}"]


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _figure(record: StudyRecord) -> Any:
    """Every gap; without one, the first curve over what was swept, or what each arm reached or model was read as."""
    if study_gaps(record):
        return draw_figure("figures:forest", record)
    intervals = study_intervals(record)
    assert intervals is not None
    found = [*draw_figure("figures:curves", record), *draw_figure("figures:reading_figures", record)]
    return found[0] if found else draw_figure("figures:intervals_figure", intervals)
