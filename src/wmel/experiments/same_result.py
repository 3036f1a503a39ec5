"""One folder, one result: whether what a folder holds is what a study would go on with."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wmel.contract.cell import FLOOR, Cell, part_label
from wmel.errors import BadInput, BadRecord
from wmel.experiments.expand import Study
from wmel.experiments.folder_store import FolderStore
from wmel.experiments.store import Manifest, Store

MAY_CHANGE = ("identity", "weights")  # of an object of the user: the same command goes on with what it is now


def refuse_another(store: Store, study: Study) -> None:
    """Refuse a folder that holds another result than a study would store there.

    Results are the same when they are of the same verb, and
    - of `study`, of the same name;
    - of `run`, of the same task (environment, criterion, perturbation, steps), planner or policy, and model;
    - of `cpg`, of the same task and planner, whatever the models;
    - of `sweep`, of the same swept settings, and otherwise as those of `run`;
    - of `diagnose`, of the same diagnostic, environment and objective, whatever the models;
    - of `esnr` and `esnr_over_training`, always: a folder keeps the readings of several questions apart.
    Numbers of episodes, seeds, swept values, metrics, executors and devices do not matter: they extend a result.
    A checkpoint is the same by its path or by its files: it may be trained again, or moved.
    """
    if not isinstance(store, FolderStore) or store.is_scratch:
        return
    try:
        held = store.manifest()
    except BadRecord:
        return  # a damaged one is written anew
    if _is_same(held, study):
        return
    raise BadInput(f"{store.folder} holds another result ({_words(held)}): give another folder")


def _is_same(one: Manifest | Study, other: Manifest | Study) -> bool:
    if one.verb["name"] != other.verb["name"] or _swept(one.verb) != _swept(other.verb):
        return False
    if one.verb["name"] == "study":
        return one.name == other.name
    if one.verb["name"] == "diagnose":
        return _questions(one) == _questions(other)
    if not one.cells and not other.cells:
        return True
    return not set(_descriptions(one)).isdisjoint(_descriptions(other))


def _questions(result: Manifest | Study) -> set[str]:
    """What is read, where and by which objective, whatever the models and seeds."""
    asked = ([one.diagnostic, one.environment, one.objective] for one in result.diagnostics)
    return {json.dumps(one, sort_keys=True) for one in asked}


def _swept(verb: Mapping[str, Any]) -> list[str]:
    return sorted(verb.get("swept", ()))


def _descriptions(result: Manifest | Study) -> Iterator[str]:
    """What the cells of a result share, as text: several where it can be recognised in several ways."""
    for cell in result.cells:
        if result.verb["name"] != "cpg":
            for model in _models(cell.arm.model):
                yield _text(cell, {**cell.parts, "policy": cell.arm.policy, "model": model})
        elif cell.arm.name != FLOOR:
            yield _text(cell, cell.parts)


def _models(model: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any] | None]:
    """The ways to recognise a model: a checkpoint by its path and by its files."""
    if model is None or "checkpoint" not in model:
        return [model]
    return [{key: value for key, value in model.items() if key != one} for one in ("files", "checkpoint")]


def _text(cell: Cell, parts: Mapping[str, Any]) -> str:
    """Parts without what is swept, and without what may change."""
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


def _words(held: Manifest) -> str:
    """A result as people name it."""
    verb = f"wmel {held.verb['name'].replace('_', ' ', 1).replace('_', '-')}"
    if held.verb["name"] == "study" or not (held.cells or held.diagnostics):
        return f"{verb} {held.name}"
    if not held.cells:
        return f"{verb} {part_label(held.diagnostics[0].environment)}"
    cell = next((one for one in held.cells if one.arm.name != FLOOR), held.cells[0])
    acting = [] if cell.arm.policy is None else [part_label(cell.arm.policy)]
    return f"{verb} {'/'.join([cell.setting_name, *acting])}"
