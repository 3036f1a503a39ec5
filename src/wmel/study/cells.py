"""From a study to its cells and to the models that must be trained for them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

from wmel.contract.cell import FLOOR, ORACLE, Cell
from wmel.errors import BadInput
from wmel.study.spec import MOST, Entry, StudySpec, arm_name

WEIGHTS = "weights.safetensors"
RECIPES = 1  # raised when the same recipe comes to mean another model


@dataclass(frozen=True, eq=False)
class Training:
    """A model a study needs that no one has trained yet."""

    environment: str
    environment_settings: Mapping[str, Any]
    trainer: str
    settings: Mapping[str, Any]  # seed included
    checkpoints: tuple[int, ...] = ()  # epochs after which the weights are kept as well

    @property
    def key(self) -> str:
        """The name its checkpoint is stored by."""
        known = {**vars(self), "recipes": RECIPES}
        return sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]


def cells_of(spec: StudySpec) -> list[Cell]:
    """Every cell of a study: floor, oracle and models of each setting, seed by seed, the swept ones in their order."""
    count = _count(spec)
    if count > MOST:
        raise BadInput(f"the study '{spec.study.name}' has {count:,} cells, and {MOST:,} are the most")
    cells = list(_cells(spec))
    unique = {cell.key: cell for cell in cells}
    return list(unique.values())


def trainings_of(cells: list[Cell]) -> dict[str, Training]:
    """What must be trained for some cells, by key."""
    found = {}
    for cell in cells:
        if cell.model is not None and "trainer" in cell.model:
            known = {name: cell.model[name] for name in ("trainer", "settings")}
            training = Training(
                cell.environment, cell.environment_settings, **known, checkpoints=tuple(cell.model["checkpoints"])
            )
            found[training.key] = training
    return found


def _count(spec: StudySpec) -> int:
    study = spec.study
    worlds = len(spec.environments) * len(spec.perturbations) * len(spec.criteria) * len(study.seeds)
    kept = sum(len(entry.keys.checkpoints or (0,)) for entry in spec.models)
    return worlds * len(spec.planners) * len(study.objectives or (0,)) * (1 + kept)


def _cells(spec: StudySpec) -> Iterator[Cell]:
    study = spec.study
    for environment, perturbation, criterion in product(spec.environments, spec.perturbations, spec.criteria):
        struck = perturbation.keys.name is not None and perturbation.keys.probability > 0
        shared = {
            "environment": environment.keys.name,
            "environment_settings": environment.keys.model_dump(exclude={"name"}, exclude_none=True),
            "perturbation": perturbation.keys.name if struck else None,
            "perturb_prob": perturbation.keys.probability if struck else 0.0,
            "perturb_step": perturbation.keys.step if struck else None,
            "success": criterion.keys.success,
            "stop": criterion.keys.stop,
            "horizon": study.horizon,
            "episodes": study.episodes,
        }
        world = _labels(environment=environment, perturbation=perturbation, criterion=criterion)
        for place, seed in enumerate(study.seeds):
            if study.floor:
                yield Cell(**shared, planner=None, objective=None, arm=FLOOR, model=None, seed=seed, labels=world)
            for planner, objective in product(spec.planners, study.objectives or (None,)):
                settings = planner.keys.model_dump(exclude_none=True)
                setting = {**shared, "planner": settings, "objective": objective, "seed": seed}
                labels = {**world, **_labels(planner=planner)}
                yield Cell(**setting, arm=ORACLE, model=None, labels=labels)
                for entry in spec.models:
                    for arm, model in _models(entry, place, spec.folder):
                        kept = {"epoch": model["epoch"]} if "epoch" in model else {}
                        yield Cell(**setting, arm=arm, model=model, labels={**labels, **entry.labels, **kept})


def _labels(**entries: Entry) -> dict[str, Any]:
    """Where the swept keys stand."""
    swept = ((kind, entry) for kind, entry in entries.items())
    return {
        (key if kind in ("planner", "environment") else f"{kind}_{key}"): value
        for kind, entry in swept
        for key, value in entry.labels.items()
    }


def _models(entry: Entry, place: int, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The arms of a model, each with what identifies it; retrained ones go with the episodes of their own seed."""
    keys, name = entry.keys, arm_name(entry)
    if keys.checkpoint is not None:
        yield name, {"checkpoint": keys.checkpoint, "weights": _file_hash(folder / keys.checkpoint)}
    elif keys.object is not None:
        yield name, {"object": keys.object}
    else:
        seeds = keys.seeds or [0]
        recipe = {**keys.recipe, "seed": seeds[place if len(seeds) > 1 else 0]}
        model = {"trainer": keys.trainer, "settings": recipe, "checkpoints": list(keys.checkpoints or ())}
        for epoch in keys.checkpoints or ():
            yield f"{name}@{epoch}", {**model, "epoch": epoch}
        if not keys.checkpoints:
            yield name, model


def _file_hash(checkpoint: Path) -> str:
    """Of the weights of a checkpoint folder."""
    try:
        return sha256((checkpoint / WEIGHTS).read_bytes()).hexdigest()
    except OSError as error:
        raise BadInput(f"{checkpoint} is no checkpoint: cannot read {WEIGHTS}: {error.strerror or error}") from error
