"""Resuming: which stored rows of a study have another provenance, and whose result a store holds."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wmel.contract.cell import FLOOR, Cell, Diagnostic, Part, part_label
from wmel.errors import BadInput, BadRecord, WmelError
from wmel.experiments.build import ModelPaths, build_model, described_model_hash, is_whole, weights_file_hash
from wmel.experiments.expand import Study, training_of_cell
from wmel.experiments.folder_store import FolderStore
from wmel.experiments.provenance import code_of, differences
from wmel.experiments.store import Manifest, Store, missing_ranges
from wmel.machine import versions_in_use

MAY_CHANGE = ("identity", "weights")  # of an object of the user: the same command continues with its present state


@dataclass(frozen=True, eq=False)
class Changed:
    """A cell whose stored rows have another provenance than rows would have now."""

    cell: Cell | Diagnostic
    differences: list[str]
    is_whole: bool


def changed_cells(store: Store, cells: list[Cell], paths: ModelPaths) -> list[Changed]:
    """Cells whose stored rows have other versions, code, weights or device, and what differs."""
    found = []
    for cell in cells:
        stored, _ = store.blocks(cell)
        if not stored:
            continue
        now = _current_provenance(cell, cell.task.environment, cell.arm.model, paths)
        if any(block.provenance.get("weights_file") is None for block in stored):
            now["weights"] = _weights(cell, paths)
        differing = list(dict.fromkeys(one for block in stored for one in differences(block.provenance, now)))
        if differing:
            found.append(Changed(cell, differing, not list(missing_ranges(stored, 0, cell.episodes))))
    return found


def changed_readings(store: Store, cells: list[Diagnostic], paths: ModelPaths) -> list[Changed]:
    """The same for readings, which are always whole."""
    found = []
    for cell in cells:
        stored = store.reading(cell)
        if stored is not None:
            differing = differences(
                stored["provenance"], _current_provenance(cell, cell.environment, cell.model, paths)
            )
            found += [Changed(cell, differing, True)] if differing else []
    return found


def _current_provenance(
    cell: Cell | Diagnostic, environment: Part, model: Mapping[str, Any] | None, paths: ModelPaths
) -> dict[str, Any]:
    """The provenance that rows of a cell would have now; the hash of its weights file identifies a model."""
    folder = paths.folder_of(environment, model)
    return {
        "versions": versions_in_use(),
        "code": code_of(cell),
        "weights_file": weights_file_hash(folder) if folder is not None and is_whole(folder) else None,
        "card": described_model_hash(folder),
        "device": paths.device_of(environment, model),
    }


def _weights(cell: Cell, paths: ModelPaths) -> str | None:
    """The present hash of a trained model, for rows of an earlier version; None if it cannot be read.

    The hash of a checkpoint is part of the key of its cell.
    """
    training, folder = training_of_cell(cell), paths.folder_of(cell.task.environment, cell.arm.model)
    if training is None or folder is None or not (folder / "card.json").exists():
        return None
    try:
        return build_model(cell.task.environment, cell.arm.model, paths).spec.weights
    except WmelError:
        return None  # it is trained again if it is needed


def refuse_other_result(store: Store, study: Study) -> None:
    """Raises BadInput if a folder holds another result than the study would store there.

    Two results are the same if they have the same verb and, for
    - `study`: the same name, and the same file where both files exist; a second file may add cells, and drop none;
    - `run`: the same task (environment, criterion, perturbation, steps), planner or policy, and model;
    - `cpg`: the same task and planner; models may differ, but two of one name must be the same model;
    - `sweep`: the same swept settings, and what `run` compares;
    - `diagnose`, `esnr` and `esnr_over_training`: the same diagnostic with the same settings, environment and
      objective, with any models.
    Numbers of episodes, seeds, swept values, metrics, executors and devices may differ: they extend a result.
    A checkpoint is the same if its path or its files are: it may be trained again, or moved.
    """
    manifest = _stored_result(store)
    if manifest is None or _is_same_result(manifest, study):
        return
    rule = "" if manifest.cells else "; one folder holds one diagnostic with one set of settings"
    both = f", and this is {_result_name(study)}" if study.verb["name"] == manifest.verb["name"] == "study" else ""
    raise BadInput(
        f"{_folder_of(store)} holds another result ({_result_name(manifest)}{both}): give another folder{rule}"
    )


def with_stored_points(study: Study, store: Store) -> Study:
    """The study, and the points that a folder holds of the same sweep, at the seeds and episodes of the study.

    Points of another state of a checkpoint or of the user's own object are left out.
    """
    manifest = _stored_result(store)
    if manifest is None or study.verb["name"] not in ("sweep", "diagnose") or not _is_same_result(manifest, study):
        return study
    cells, readings = _stored_points(manifest, study), _stored_readings(manifest, study)
    return replace(study, cells=[*study.cells, *cells], diagnostics=[*study.diagnostics, *readings])


def _stored_points(manifest: Manifest, study: Study) -> list[Cell]:
    """The cells of the points that only the folder has, at the seeds and episodes of the study."""
    known = {_point(cell) for cell in study.cells}
    states = {_state(cell) for cell in study.cells}
    points: dict[str, list[Cell]] = {}
    for cell in manifest.cells:
        if _point(cell) not in known and _state(cell) in states:
            points.setdefault(_point(cell), []).append(cell)
    seeds = list(dict.fromkeys(cell.seed for cell in study.cells))
    return [_at_seed(cells, seed, study.cells[0].episodes) for cells in points.values() for seed in seeds]


def _stored_readings(manifest: Manifest, study: Study) -> list[Diagnostic]:
    """The readings of swept values that only the folder has, of the models and seeds of the study."""
    known = {one.key for one in study.diagnostics}
    requested = {_model_and_seed(one) for one in study.diagnostics}
    return [
        one for one in manifest.diagnostics if one.sweeps and one.key not in known and _model_and_seed(one) in requested
    ]


def _model_and_seed(reading: Diagnostic) -> str:
    return json.dumps([_models(reading.model)[-1], reading.seed], sort_keys=True)


def _at_seed(cells: list[Cell], seed: int, episodes: int) -> Cell:
    """The cell of a point at a seed."""
    cell = next((one for one in cells if one.seed == seed), cells[0])
    return replace(cell, seed=seed, episodes=episodes)


def _point(cell: Cell) -> str:
    """The swept values of a cell as text."""
    return json.dumps(dict(cell.labels), sort_keys=True)


def _state(cell: Cell) -> str:
    """Everything that the points of a sweep share, as text."""
    model = _models(cell.arm.model)[-1]
    return _parts_text(cell.sweeps, {**cell.parts, "policy": cell.arm.policy, "model": model}, may_change=())


def _stored_result(store: Store) -> Manifest | None:
    """The result that a folder holds; None if there is none, or if its rows wait for a record."""
    if not isinstance(store, FolderStore) or store.is_scratch or not store.exists:
        return None
    try:
        return store.manifest()
    except BadRecord:
        return None  # a damaged manifest is written again


def _folder_of(store: Store) -> Any:
    return store.folder if isinstance(store, FolderStore) else None


def _is_same_result(one: Manifest | Study, other: Manifest | Study) -> bool:
    if one.verb["name"] != other.verb["name"] or _swept_settings(one.verb) != _swept_settings(other.verb):
        return False
    if one.verb["name"] == "study":
        return one.name == other.name and (not _are_two_files(one.path, other.path) or _has_cells_of(other, one))
    if one.diagnostics or other.diagnostics:
        return _diagnostics_of(one) == _diagnostics_of(other)
    if not one.cells and not other.cells:
        return True
    if one.verb["name"] == "cpg" and not _share_models(one, other):
        return False
    return not set(_descriptions(one)).isdisjoint(_descriptions(other))


def _are_two_files(one: Path | None, other: Path | None) -> bool:
    """Whether both are files, and not the same one. A study that was moved or renamed is one file."""
    return one is not None and other is not None and one.is_file() and other.is_file() and not one.samefile(other)


def _has_cells_of(result: Manifest | Study, other: Manifest | Study) -> bool:
    """Whether a result has all cells and readings of another."""
    keys, others = ({cell.key for cell in (*some.cells, *some.diagnostics)} for some in (result, other))
    return keys >= others


def _diagnostics_of(result: Manifest | Study) -> set[str]:
    """The diagnostics, environments and objectives of a result, without models, seeds and swept values."""
    kinds = ("diagnostic", "environment", "objective")
    found = ((one.sweeps, {kind: getattr(one, kind) for kind in kinds}) for one in result.diagnostics)
    return {f"{sorted(sweeps.values())} {_parts_text(sweeps, parts)}" for sweeps, parts in found}


def _swept_settings(verb: Mapping[str, Any]) -> list[str]:
    return sorted(verb.get("swept", ()))


def _share_models(one: Manifest | Study, other: Manifest | Study) -> bool:
    """Whether the models of one name in both are the same."""
    models, others = _models_by_name(one), _models_by_name(other)
    return not any(models[name].isdisjoint(others[name]) for name in models.keys() & others.keys())


def _models_by_name(result: Manifest | Study) -> dict[str, set[str]]:
    """The models of a result as text, by arm; several texts if a model can be recognised in several ways."""
    found: dict[str, set[str]] = {}
    for cell in result.cells:
        if cell.arm.model is not None:
            texts = (_parts_text(cell.sweeps, {"model": model}) for model in _models(cell.arm.model))
            found.setdefault(cell.arm.name, set()).update(texts)
    return found


def _descriptions(result: Manifest | Study) -> Iterator[str]:
    """The parts of the cells of a result as text; several texts if a model can be recognised in several ways."""
    for cell in result.cells:
        if result.verb["name"] != "cpg":
            for model in _models(cell.arm.model):
                yield _parts_text(cell.sweeps, {**cell.parts, "policy": cell.arm.policy, "model": model})
        elif cell.arm.name != FLOOR:
            yield _parts_text(cell.sweeps, cell.parts)


def _models(model: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any] | None]:
    """A model in each way it can be recognised: a checkpoint by its path and by its files."""
    if model is None or "checkpoint" not in model:
        return [model]
    return [{key: value for key, value in model.items() if key != one} for one in ("files", "checkpoint")]


def _parts_text(sweeps: Mapping[str, str], parts: Mapping[str, Any], may_change: Sequence[str] = MAY_CHANGE) -> str:
    """Parts as text, without swept settings and without what may change."""
    left = json.loads(json.dumps(parts))
    model = left.get("model") or {}
    for swept in sweeps.values():
        kind, _, key = swept.partition(".")
        settings = (model.get("settings"), model.get("trainer")) if kind == "model" else ()
        for part in (left.get(kind), *settings):
            if isinstance(part, dict):
                part.pop(key, None)
    if not model.get("settings", True):
        del model["settings"]
    if isinstance(model.get("trainer"), dict):
        model["trainer"].pop("seed", None)
    for part in (one for one in left.values() if isinstance(one, dict)):
        for key in may_change:
            part.pop(key, None)
    return json.dumps(left, sort_keys=True)


def _result_name(manifest: Manifest | Study) -> str:
    """A result as the command line names it, with the file of a study."""
    verb = f"wmel {manifest.verb['name'].replace('_', ' ', 1).replace('_', '-')}"
    if manifest.verb["name"] == "study" or not (manifest.cells or manifest.diagnostics):
        return f"{verb} {manifest.name}{'' if manifest.path is None else f' of {os.path.relpath(manifest.path)}'}"
    if not manifest.cells:
        first = manifest.diagnostics[0]
        return f"{verb} {part_label(first.environment)}/{part_label(first.diagnostic)}"
    cell = next((one for one in manifest.cells if one.arm.name != FLOOR), manifest.cells[0])
    acting = [] if cell.arm.policy is None else [part_label(cell.arm.policy)]
    models = [one.arm.name for one in manifest.cells if one.arm.model is not None]
    return f"{verb} {'/'.join([cell.setting_name, *acting, *dict.fromkeys(models)])}"
