"""From a study to its cells."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

from wmel import catalog
from wmel.contract.cell import FLOOR, ORACLE, Arm, Cell, Diagnostic, Task, Training, training_of
from wmel.errors import BadInput
from wmel.experiments.keys import environment_part
from wmel.experiments.spec import MOST, SEED, Entry, StudySpec, arm_name

FILES = ("weights.safetensors", "card.json")


@dataclass(frozen=True, eq=False)
class Study:
    """What is to be run: cells of episodes and diagnostics; the models to be trained follow from them."""

    name: str
    about: str
    cells: list[Cell]
    diagnostics: list[Diagnostic] = field(default_factory=list)
    block: int = 50
    metrics: tuple[str, ...] = ()
    text: str = ""  # of its file
    folder: Path = Path()  # which paths of checkpoints are relative to
    objects: Mapping[str, Any] = field(default_factory=dict)  # live models and environments, by name
    verb: Mapping[str, Any] = field(default_factory=lambda: {"name": "study"})  # whose result it is, and how


def study_of(spec: StudySpec, objects: Mapping[str, Any] | None = None) -> Study:
    """Every cell of a study: floor, oracle and models of each setting, seed by seed, the swept ones in their order."""
    count = _count(spec)
    if count > MOST:
        raise BadInput(f"the study '{spec.study.name}' has {count:,} cells, and {MOST:,} are the most")
    cells = {cell.key: cell for cell in _cells(spec)}
    places: dict[tuple[str, str, int], Cell] = {}
    for cell in cells.values():
        if places.setdefault((cell.setting, cell.arm.name, cell.seed), cell) is not cell:
            raise BadInput(f"two models of the study '{spec.study.name}' are called '{cell.arm.name}'")
    study = spec.study
    return Study(
        study.name,
        study.about,
        list(cells.values()),
        list({one.key: one for one in _diagnostics(spec)}.values()),
        study.block,
        tuple(study.metrics),
        spec.text,
        spec.folder,
        objects or {},
    )


def trainings_of(cells: list[Cell] | list[Diagnostic]) -> dict[str, Training]:
    """What must be trained for some cells, by key."""
    found = (training_of_cell(cell) for cell in cells)
    return {training.key: training for training in found if training is not None}


def training_of_cell(cell: Cell | Diagnostic) -> Training | None:
    """What must be trained for a cell."""
    if isinstance(cell, Diagnostic):
        return training_of(cell.environment, cell.model)
    return training_of(cell.task.environment, cell.arm.model)


def _count(spec: StudySpec) -> int:
    study = spec.study
    worlds = len(spec.environments) * len(spec.perturbations) * len(spec.criteria) * len(study.seeds)
    models = sum(len(entry.keys.epochs_kept or (0,)) for entry in spec.models)
    return worlds * max(1, len(spec.planners)) * max(1, len(spec.objectives)) * (1 + models + len(spec.policies))


def _cells(spec: StudySpec) -> Iterator[Cell]:
    study = spec.study
    for environment, perturbation, criterion in product(spec.environments, spec.perturbations, spec.criteria):
        struck = perturbation.keys.part
        task = Task(
            environment.keys.part,
            criterion.keys.text,
            criterion.keys.stop,
            study.horizon,
            struck,
            0.0 if struck is None else perturbation.keys.probability,
            None if struck is None else perturbation.keys.step,
        )
        world = _labels(environment=environment, perturbation=perturbation, criterion=criterion)
        for place, seed in enumerate(study.seeds):
            shared = {"task": task, "seed": seed, "episodes": study.episodes}
            if study.floor and (spec.planners or spec.policies or spec.models):
                yield Cell(arm=Arm(FLOOR, policy={"name": "random"}), labels=world, shared_labels=world, **shared)
            for policy in spec.policies:
                yield Cell(
                    arm=Arm(_policy_arm(policy), policy=policy.keys.part), labels=_merged(world, policy), **shared
                )
            for planner, objective in product(spec.planners or (None,), spec.objectives or (None,)):
                yield from _setting(spec, planner, objective, shared, world, place)


def _setting(
    spec: StudySpec, planner: Entry | None, objective: Entry | None, shared: dict[str, Any], world: dict, place: int
) -> Iterator[Cell]:
    """The arms of one planner and objective: the oracle, then the models."""
    planning: dict[str, Any] = {"objective": None if objective is None else objective.keys.part}
    labels = dict(world) if objective is None else _merged(world, objective)
    if planner is not None:
        planning |= {"planner": planner.keys.part, "execute": planner.keys.execute}
        labels |= _labels(planner=planner)
        if spec.study.oracle:
            yield Cell(arm=Arm(ORACLE, **planning), labels=labels, shared_labels=labels, **shared)
    for entry in spec.models:
        policy = entry.keys.policy_part
        if planner is None and policy is None:
            continue
        own = {} if policy is None else {"policy": policy["name"]}
        for name, model, kept in _models(entry, place, spec.folder, shared["task"].environment):
            arm = Arm(name, policy=policy, model=model, **planning)
            yield Cell(arm=arm, labels={**labels, **entry.labels, **kept, **own}, shared_labels=labels, **shared)


def _diagnostics(spec: StudySpec) -> Iterator[Diagnostic]:
    shared = [None if one is None else one.keys.part for one in spec.objectives or (None,)]
    asked = (
        (one, score)
        for one in spec.diagnostics
        for score in ([one.keys.objective_part] if one.keys.objective else shared)
    )
    for diagnostic, objective in asked:
        elsewhere = environment_part(diagnostic.keys.environment)
        places = [(elsewhere, {})] if elsewhere else [(one.keys.part, one.labels) for one in spec.environments]
        for environment, where in places:
            yield from _readings(spec, diagnostic, objective, environment, {**where, **_labels(diagnostic=diagnostic)})


def _readings(
    spec: StudySpec,
    diagnostic: Entry,
    objective: dict[str, Any] | None,
    environment: dict[str, Any],
    labels: dict[str, Any],
) -> Iterator[Diagnostic]:
    """A diagnostic in one environment: of the oracle, or of the models, each with the oracle beside it."""
    shared = (diagnostic.keys.part, environment, objective)
    for place, seed in enumerate(spec.study.seeds):
        source = _source_of(spec, diagnostic, place, environment)
        if not spec.models:
            yield Diagnostic(*shared, ORACLE, None, seed, source, labels)
        for entry in spec.models:
            for name, model, kept in _models(entry, place, spec.folder, environment):
                yield Diagnostic(*shared, name, model, seed, source, {**labels, **entry.labels, **kept})


def _source_of(spec: StudySpec, diagnostic: Entry, place: int, environment: Mapping[str, Any]) -> dict[str, Any] | None:
    """The model whose own policy the states of a diagnostic come from: the first, where its policy is named."""
    policy = diagnostic.keys.settings.get("source")
    if not isinstance(policy, str) or not any(own in policy for own in ("prior", "native")):
        return None
    if not spec.models:
        raise BadInput(f"the states of '{policy}' are those of a model's own policy: give a model")
    name, model, _ = next(_models(spec.models[0], place, spec.folder, environment))
    return {"name": name, **model}


def _policy_arm(entry: Entry) -> str:
    swept = ",".join(f"{key}={value}" for key, value in entry.labels.items())
    return f"{entry.keys.name}[{swept}]" if swept else entry.keys.name


def _merged(labels: Mapping[str, Any], entry: Entry) -> dict[str, Any]:
    return {**labels, **entry.labels}


def _labels(**entries: Entry) -> dict[str, Any]:
    """Where the swept keys stand."""
    return {
        (key if kind in ("planner", "environment") else f"{kind}_{key}"): value
        for kind, entry in entries.items()
        for key, value in entry.labels.items()
    }


def _models(
    entry: Entry, place: int, folder: Path, environment: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """The arms of a model: name, what identifies it, labels; retrained ones go with the episodes of their own seed."""
    keys, name = entry.keys, arm_name(entry)
    seeds = keys.seeds or [0]
    seed = seeds[place if len(seeds) > 1 else 0]
    use = {} if keys.rollout is None else {"rollout": keys.rollout}
    elsewhere = environment_part(keys.environment)
    use |= {} if elsewhere in (None, environment) else {"environment": elsewhere}
    if keys.checkpoint is not None:
        path = keys.checkpoint.replace(SEED, str(seed))
        yield name, {"checkpoint": path, "files": _files_hash(folder / path), **use}, {}
    elif keys.object is not None:
        yield name, {"object": keys.object}, {}
    elif keys.given:
        yield name, {"given": name, **({} if keys.weights is None else {"weights": keys.weights})}, {}
    elif keys.epochs_kept:
        for epochs in keys.epochs_kept:
            recipe = keys.recipe(seed, epochs=epochs)
            yield f"{name}@{epochs}", {"trainer": recipe, **use}, {"epochs": epochs}
    else:
        recipe = keys.recipe(seed)
        settings = {key: value for key, value in recipe.items() if key != "name"}
        updates = catalog.TRAINERS.build(recipe["name"], **settings).checkpoint_updates
        for at in updates:
            yield f"{name}@{at}", {"trainer": recipe, "at": at, **use}, {"updates": at}
        if not updates:
            yield name, {"trainer": recipe, **use}, {}


def _files_hash(checkpoint: Path) -> str:
    """Of the weights and the card of a checkpoint folder."""
    try:
        return sha256(b"".join((checkpoint / name).read_bytes() for name in FILES)).hexdigest()
    except OSError as error:
        raise BadInput(f"{checkpoint} is no checkpoint: cannot read it: {error.strerror or error}") from error
