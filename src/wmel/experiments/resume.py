"""Resuming: which stored rows of a study have another provenance, and whose result a store holds."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wmel.contract.cell import FLOOR, Cell, Diagnostic, Part, part_label
from wmel.errors import BadInput, BadRecord, WmelError
from wmel.experiments.build import ModelPaths, build_model, is_whole, weights_file_hash
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
    - `study`: the same name;
    - `run`: the same task (environment, criterion, perturbation, steps), planner or policy, and model;
    - `cpg`: the same task and planner, with any models;
    - `sweep`: the same swept settings, and what `run` compares;
    - `diagnose`: the same diagnostic, environment and objective, with any models;
    - `esnr` and `esnr_over_training`: nothing more, as one folder keeps several readings apart.
    Numbers of episodes, seeds, swept values, metrics, executors and devices may differ: they extend a result.
    A checkpoint is the same if its path or its files are: it may be trained again, or moved.
    """
    if not isinstance(store, FolderStore) or store.is_scratch:
        return
    try:
        held = store.manifest()
    except BadRecord:
        return  # a damaged manifest is written again
    if _is_same_result(held, study):
        return
    raise BadInput(f"{store.folder} holds another result ({_result_name(held)}): give another folder")


def _is_same_result(one: Manifest | Study, other: Manifest | Study) -> bool:
    if one.verb["name"] != other.verb["name"] or _swept(one.verb) != _swept(other.verb):
        return False
    if one.verb["name"] == "study":
        return one.name == other.name
    if one.verb["name"] == "diagnose":
        return _diagnostics_of(one) == _diagnostics_of(other)
    if not one.cells and not other.cells:
        return True
    return not set(_descriptions(one)).isdisjoint(_descriptions(other))


def _diagnostics_of(result: Manifest | Study) -> set[str]:
    """The diagnostics, environments and objectives of a result, without models and seeds."""
    parts = ([one.diagnostic, one.environment, one.objective] for one in result.diagnostics)
    return {json.dumps(one, sort_keys=True) for one in parts}


def _swept(verb: Mapping[str, Any]) -> list[str]:
    return sorted(verb.get("swept", ()))


def _descriptions(result: Manifest | Study) -> Iterator[str]:
    """The parts of the cells of a result as text; several texts if a model can be recognised in several ways."""
    for cell in result.cells:
        if result.verb["name"] != "cpg":
            for model in _models(cell.arm.model):
                yield _parts_text(cell, {**cell.parts, "policy": cell.arm.policy, "model": model})
        elif cell.arm.name != FLOOR:
            yield _parts_text(cell, cell.parts)


def _models(model: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any] | None]:
    """A model in each way it can be recognised: a checkpoint by its path and by its files."""
    if model is None or "checkpoint" not in model:
        return [model]
    return [{key: value for key, value in model.items() if key != one} for one in ("files", "checkpoint")]


def _parts_text(cell: Cell, parts: Mapping[str, Any]) -> str:
    """Parts as text, without swept settings and without what may change."""
    left = json.loads(json.dumps(parts))
    for swept in cell.sweeps.values():
        kind, _, key = swept.partition(".")
        (left.get(kind) or {}).pop(key, None)
    model = left.get("model") or {}
    (model.get("trainer") or {}).pop("seed", None)
    for part in (one for one in left.values() if isinstance(one, dict)):
        for key in MAY_CHANGE:
            part.pop(key, None)
    return json.dumps(left, sort_keys=True)


def _result_name(held: Manifest) -> str:
    """A result as the command line names it."""
    verb = f"wmel {held.verb['name'].replace('_', ' ', 1).replace('_', '-')}"
    if held.verb["name"] == "study" or not (held.cells or held.diagnostics):
        return f"{verb} {held.name}"
    if not held.cells:
        return f"{verb} {part_label(held.diagnostics[0].environment)}"
    cell = next((one for one in held.cells if one.arm.name != FLOOR), held.cells[0])
    acting = [] if cell.arm.policy is None else [part_label(cell.arm.policy)]
    return f"{verb} {'/'.join([cell.setting_name, *acting])}"
