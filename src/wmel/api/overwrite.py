"""Whether a file may be overwritten: only if it is the record of the same result, as in a folder."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wmel.contract.cell import Cell, label_value
from wmel.contract.criterion import Criterion, stop_rule
from wmel.errors import BadInput, BadRecord
from wmel.experiments.build import ModelPaths, build_environment, describe_parts
from wmel.experiments.expand import Study
from wmel.experiments.resume import MAY_CHANGE
from wmel.reports.record_types import RunMetadata, RunRecord, SweepRecord
from wmel.reports.records import AnyRecord, read_record

Settings = dict[str, Any]  # by kind and name, such as `planner.elites`
CHECKPOINT = ("model.checkpoint", "model.files")  # either of them identifies a checkpoint


def refuse_other_record(path: Path, study: Study) -> None:
    """Raises BadInput for a file that is not the record of a result which the study repeats or extends.

    The rule is that of folders (`refuse_other_result`). A file has no rows but its own: its seeds, episodes and swept
    values must be among those of the study.
    """
    if not path.is_file():
        return
    existing = _stored_record(path)
    if not isinstance(existing, RunRecord | SweepRecord) or existing.kind != study.verb["name"]:
        difference = f"wmel {existing.kind}"
    elif not existing.metadata.parts:
        difference = "written by an earlier version"
    else:
        difference = next((words for words in (*_lost_rows(existing, study), *_other_settings(existing, study))), None)
    if difference is not None:
        raise BadInput(f"{path} holds another result ({difference}): give another file")


def refuse_other_kind(path: Path, kind: str) -> None:
    """Raises BadInput for a file that is not a record of a kind."""
    if path.is_file() and (existing := _stored_record(path).kind) != kind:
        raise BadInput(f"{path} holds another result ({existing}): give another file")


def _stored_record(path: Path) -> AnyRecord:
    try:
        return read_record(path)
    except BadRecord as error:
        raise BadInput(f"{path} would be written over, and is no record of wmel: give another file") from error


def _lost_rows(existing: RunRecord | SweepRecord, study: Study) -> Iterator[str]:
    """What a record has rows of and the study has not: seeds, episodes and swept values."""
    seeds = existing.metadata.seeds
    yield from (f"seed {seed}" for seed in seeds if seed not in {cell.seed for cell in study.cells})
    rows = existing.metadata.episodes if isinstance(existing, RunRecord) else existing.metadata.episodes_per_point
    if rows // len(seeds) > study.cells[0].episodes:
        yield f"{rows // len(seeds)} episodes"
    points = [] if isinstance(existing, RunRecord) else [point.swept for point in existing.points]
    for point in points:
        if not any(all(_has_value(cell, *one) for one in point.items()) for cell in study.cells):
            yield ", ".join(f"{name} {value}" for name, value in point.items())


def _has_value(cell: Cell, name: str, value: Any) -> bool:
    """Whether a cell has a swept value; a point names a setting by its label or in full."""
    return any(name in (label, cell.sweeps.get(label)) and label_value(one) == label_value(value)
               for label, one in cell.labels.items())  # fmt: skip


def _other_settings(existing: RunRecord | SweepRecord, study: Study) -> Iterator[str]:
    """The settings that are others in a record. That of a sweep holds those that all its points share."""
    metadata, cell = existing.metadata, study.cells[0]
    horizon = metadata.horizon if isinstance(metadata, RunMetadata) else metadata.episode_horizon
    recorded = _by_name(metadata.parts, metadata.success, metadata.stop, horizon, metadata.execute)
    stored, requested = (_without_swept(one, cell) for one in (recorded, _requested_settings(study, horizon)))
    if any(stored.get(name) is not None and stored.get(name) == requested.get(name) for name in CHECKPOINT):
        stored, requested = (
            {key: one for key, one in some.items() if key not in CHECKPOINT} for some in (stored, requested)
        )
    shared, names = stored.keys() & requested.keys(), stored | requested
    if isinstance(existing, SweepRecord):
        names = [name for name in names if name in shared or (name.endswith(".name") and name != "trainer.name")]
    yield from (f"{name} = {stored.get(name)}" for name in names if stored.get(name) != requested.get(name))


def _requested_settings(study: Study, recorded_horizon: int) -> Settings:
    """The settings of a study as its record would hold them; of the horizons of a sweep over worlds, the recorded."""
    paths, cell = ModelPaths(Path(), study.folder, objects=study.objects), study.cells[0]
    worlds = [build_environment(one.task.environment, paths) for one in study.cells]
    horizons = {world.spec.max_steps for world in worlds} if cell.task.horizon is None else {cell.task.horizon}
    horizon = recorded_horizon if recorded_horizon in horizons else max(horizons)
    criterion = Criterion.parse(cell.task.criterion) if cell.task.criterion else worlds[0].default_criterion
    success, stop = None if criterion is None else str(criterion), stop_rule(criterion, cell.task.stop).value
    return _by_name(describe_parts(cell), success, stop, horizon, cell.arm.execute)


def _by_name(parts: Any, success: str | None, stop: str, horizon: int, execute: int | None) -> Settings:
    left = json.loads(json.dumps(parts))
    left["trainer"] = (left.get("model") or {}).pop("trainer", None) or {}
    settings = {f"{kind}.{name}": one for kind, part in left.items() if part for name, one in part.items()}
    task = {"criterion.criterion": success, "criterion.stop": stop, "horizon": horizon, "planner.execute": execute}
    return settings | task


def _without_swept(settings: Settings, cell: Cell) -> Settings:
    """The settings without those that are swept and those that may change."""
    left_out = {*cell.sweeps.values(), "trainer.seed"}
    of_model = [swept.partition(".")[2] for swept in cell.sweeps.values() if swept.startswith("model.")]
    left_out |= {"model.name", *(f"trainer.{name}" for name in of_model)} if of_model else set()
    changing = tuple(f".{name}" for name in MAY_CHANGE)
    return {name: one for name, one in settings.items() if name not in left_out and not name.endswith(changing)}
