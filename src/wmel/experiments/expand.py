"""From a study to its cells."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from wmel import catalog
from wmel.analysis.scorecard import metric_texts
from wmel.contract.cell import FLOOR, ORACLE, Arm, Cell, Diagnostic, Task, Training, training_of
from wmel.contract.trainer import HasProgressUnit
from wmel.errors import BadInput
from wmel.experiments.build import files_hash
from wmel.experiments.keys import environment_part
from wmel.experiments.spec import MOST, SEED, StudyEntry, StudySpec, arm_name
from wmel.kinds import implements


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
    executor: Any = None  # who runs its jobs, unless the verb is told: a name, {name, **settings} or an object


def study_of(spec: StudySpec, objects: Mapping[str, Any] | None = None) -> Study:
    """Every cell of a study: floor, oracle and models of each setting, seed by seed, the swept ones in their order."""
    count = _count(spec)
    if count > MOST:
        raise BadInput(f"the study '{spec.study.name}' has {count:,} cells, and {MOST:,} are the most")
    cells = {cell.key: cell for cell in _cells(spec)}
    places: dict[tuple[str, str, int], Cell] = {}
    for cell in cells.values():
        if places.setdefault((cell.setting, cell.arm.name, cell.seed), cell) is not cell:
            raise BadInput(f"two arms of the study '{spec.study.name}' are called '{cell.arm.name}': rename one")
    study = spec.study
    return Study(
        study.name,
        study.about,
        list(cells.values()),
        list({one.key: one for one in _diagnostics(spec)}.values()),
        study.block,
        tuple(metric_texts(study.metrics)),
        spec.text,
        spec.folder,
        objects or {},
        {"name": "study", "paper": bool(catalog.preset_settings(study.preset).get("verdict"))},
        study.executor,
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
    models = sum(max(1, len(_checkpoints(entry.keys.recipe(0))[1])) for entry in spec.models if entry.keys.trainer)
    models += sum(entry.keys.trainer is None for entry in spec.models)
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
        world = (environment, perturbation, criterion)
        labels = _labels(*world)
        for place, seed in enumerate(study.seeds):
            shared = {"task": task, "seed": seed, "episodes": study.episodes, "shared_labels": labels}
            if study.floor and (spec.planners or spec.policies or any(one.keys.policy for one in spec.models)):
                floor = Arm(FLOOR, policy={"name": "random"}, base=FLOOR)
                yield Cell(arm=floor, labels=labels, sweeps=_sweeps(*world), **shared)
            for policy in spec.policies:
                arm = Arm(arm_name(policy), policy=policy.keys.part, base=policy.keys.name)
                yield Cell(arm=arm, labels=_labels(*world, policy), sweeps=_sweeps(*world, policy), **shared)
            for planner, objective in product(spec.planners or (None,), spec.objectives or (None,)):
                planned = [entry for entry in (objective, planner) if entry is not None]
                yield from _setting(spec, planner, objective, [*world, *planned], shared, place)


def _setting(
    spec: StudySpec,
    planner: StudyEntry | None,
    objective: StudyEntry | None,
    entries: list[StudyEntry],
    shared: dict[str, Any],
    place: int,
) -> Iterator[Cell]:
    """The arms of one planner and objective: the oracle, then the models."""
    planning: dict[str, Any] = {"objective": None if objective is None else objective.keys.part}
    labels = _labels(*entries)
    shared = {**shared, "shared_labels": labels}
    if planner is not None:
        planning |= {"planner": planner.keys.part, "execute": planner.keys.execute}
        if spec.study.oracle:
            arm = Arm(ORACLE, base=ORACLE, **planning)
            yield Cell(arm=arm, labels=labels, sweeps=_sweeps(*entries), **shared)
    for entry in spec.models:
        policy = entry.keys.policy_part
        if planner is None and policy is None:
            continue
        own = {} if policy is None else {"policy": policy["name"]}
        for name, model, kept in _models(entry, place, spec.folder, shared["task"].environment):
            arm = Arm(name, policy=policy, model=model, base=entry.keys.name, **planning)
            sweeps = _sweeps(*entries, entry)
            yield Cell(arm=arm, labels={**labels, **own, **entry.labels, **kept}, sweeps=sweeps, **shared)


def _diagnostics(spec: StudySpec) -> Iterator[Diagnostic]:
    for diagnostic in spec.diagnostics:
        elsewhere, own = environment_part(diagnostic.keys.environment), diagnostic.keys.objective_part
        places = [(elsewhere, None)] if elsewhere else [(one.keys.part, one) for one in spec.environments]
        scores = [(one.keys.part, one) for one in spec.objectives] if own is None else []
        for (environment, place), (objective, score) in product(places, scores or [(own, None)]):
            entries = [entry for entry in (place, score, diagnostic) if entry is not None]
            yield from _readings(spec, diagnostic, environment, objective, entries)


def _readings(
    spec: StudySpec,
    diagnostic: StudyEntry,
    environment: dict[str, Any],
    objective: dict[str, Any] | None,
    entries: list[StudyEntry],
) -> Iterator[Diagnostic]:
    """A diagnostic in one environment: of the oracle, or of the models, each with the oracle beside it."""
    shared, labels = (diagnostic.keys.part, environment, objective), _labels(*entries)
    for place, seed in enumerate(spec.study.seeds):
        source = _source_of(spec, diagnostic, place, environment)
        if not spec.models:
            yield Diagnostic(*shared, ORACLE, None, seed, source, labels, ORACLE, _sweeps(*entries))
        for entry in spec.models:
            sweeps = _sweeps(*entries, entry)
            for name, model, kept in _models(entry, place, spec.folder, environment):
                at = {**labels, **entry.labels, **kept}
                yield Diagnostic(*shared, name, model, seed, source, at, entry.keys.name, sweeps)


def _source_of(
    spec: StudySpec, diagnostic: StudyEntry, place: int, environment: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The model whose own policy the states of a diagnostic come from: the first, where its policy is named."""
    policy = diagnostic.keys.settings.get("source")
    if not isinstance(policy, str) or not any(own in policy for own in ("prior", "native")):
        return None
    if not spec.models:
        raise BadInput(f"the states of '{policy}' are those of a model's own policy: give a model")
    name, model, _ = next(_models(spec.models[0], place, spec.folder, environment))
    return {"name": name, **model}


def _labels(*entries: StudyEntry) -> dict[str, Any]:
    """Where the swept keys stand."""
    return {label: value for entry in entries for label, value in entry.labels.items()}


def _sweeps(*entries: StudyEntry) -> dict[str, str]:
    """The settings that labels are of."""
    return {label: setting for entry in entries for label, setting in entry.sweeps.items()}


def _models(
    entry: StudyEntry, place: int, folder: Path, environment: Mapping[str, Any]
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
        yield name, {"checkpoint": path, "files": files_hash(folder / path), **use}, {}
    elif keys.object is not None:
        own = keys.object_settings
        yield name, {"object": keys.object, **({"settings": own} if own else {})}, {}
    elif keys.given:
        yield name, {"given": name, **({} if keys.weights is None else {"weights": keys.weights})}, {}
    else:
        recipe = keys.recipe(seed)
        counted, kept = _checkpoints(recipe)
        label = "checkpoint" if counted in entry.labels else counted
        for at in kept:
            yield f"{name}@{at}", {"trainer": recipe, "at": at, **use}, {label: at}
        if not kept:
            yield name, {"trainer": recipe, **use}, {}


def _checkpoints(recipe: Mapping[str, Any]) -> tuple[str, tuple[int, ...]]:
    """The checkpoints that a recipe keeps on the way: what they are counted in, and where they stand."""
    name, settings = catalog.name_and_settings(recipe, "trainer")
    trainer = catalog.TRAINERS.build(name, **settings)
    kept = trainer.checkpoint_updates
    return trainer.counts_in() if implements(trainer, HasProgressUnit) else "updates", kept
