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
from wmel.study.spec import MOST, SEED, Entry, StudySpec, arm_name

FILES = ("weights.safetensors", "card.json")
RECIPES = 1  # raised when the same recipe comes to mean another model


@dataclass(frozen=True, eq=False)
class Training:
    """A model a study needs that no one has trained yet."""

    environment: str
    environment_settings: Mapping[str, Any]
    trainer: str
    settings: Mapping[str, Any]  # seed included

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
    cells = {cell.key: cell for cell in _cells(spec)}
    places: dict[tuple[str, str, int], Cell] = {}
    for cell in cells.values():
        if places.setdefault((cell.setting, cell.arm, cell.seed), cell) is not cell:
            raise BadInput(f"two models of the study '{spec.study.name}' are called '{cell.arm}'")
    return list(cells.values())


def training_of(cell: Cell) -> Training | None:
    """What must be trained for a cell."""
    if cell.model is None or "trainer" not in cell.model:
        return None
    return Training(cell.environment, cell.environment_settings, cell.model["trainer"], cell.model["settings"])


def trainings_of(cells: list[Cell]) -> dict[str, Training]:
    """What must be trained for some cells, by key."""
    found = (training_of(cell) for cell in cells)
    return {training.key: training for training in found if training is not None}


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
                settings = planner.keys.settings
                setting = {**shared, "planner": settings, "objective": objective, "seed": seed}
                labels = {**world, **_labels(planner=planner)}
                yield Cell(**setting, arm=ORACLE, model=None, labels=labels)
                for entry in spec.models:
                    for arm, model in _models(entry, place, spec.folder):
                        kept = {"epochs": model["settings"]["epochs"]} if entry.keys.checkpoints else {}
                        own = {"policy": model["policy"]} if "policy" in model else {}
                        yield Cell(**setting, arm=arm, model=model, labels={**labels, **entry.labels, **kept, **own})


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
    seeds = keys.seeds or [0]
    seed = seeds[place if len(seeds) > 1 else 0]
    if keys.checkpoint is not None:
        path = keys.checkpoint.replace(SEED, str(seed))
        yield name, {"checkpoint": path, "files": _files_hash(folder / path), **keys.use}
    elif keys.object is not None:
        yield name, {"object": keys.object, **keys.use}
    else:
        recipe = {**keys.recipe, "seed": seed}
        for epoch in keys.checkpoints or (None,):
            kept = {} if epoch is None else {"epochs": epoch}
            model = {"trainer": keys.trainer, "settings": {**recipe, **kept}, **keys.use}
            yield f"{name}@{epoch}" if kept else name, model


def _files_hash(checkpoint: Path) -> str:
    """Of the weights and the card of a checkpoint folder."""
    try:
        return sha256(b"".join((checkpoint / name).read_bytes() for name in FILES)).hexdigest()
    except OSError as error:
        raise BadInput(f"{checkpoint} is no checkpoint: cannot read it: {error.strerror or error}") from error
