"""The cells of a study: every arm of every setting, seed by seed."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from wmel import catalog
from wmel.analysis.scorecard import metric_texts
from wmel.contract.cell import (
    FLOOR,
    ORACLE,
    Arm,
    Cell,
    Diagnostic,
    Task,
    Training,
    label_name,
    label_value,
    training_of,
)
from wmel.contract.trainer import HasProgressUnit
from wmel.errors import BadInput
from wmel.experiments.build import files_hash
from wmel.experiments.keys import SEED, environment_part
from wmel.experiments.spec import ENTRY_KINDS, MAX_CELLS, StudyEntry, StudySpec, arm_name, with_place
from wmel.parts import implements

SAME_SETTING = {("criterion", "success"): "criterion"}  # aliases


@dataclass(frozen=True, eq=False)
class Study:
    """What to run: cells of episodes and diagnostics. The models to train follow from them."""

    name: str
    about: str
    cells: list[Cell]
    diagnostics: list[Diagnostic] = field(default_factory=list)
    block: int = 50
    metrics: tuple[str, ...] = ()
    text: str = ""  # of the study file
    folder: Path = Path()  # paths of checkpoints are relative to it
    objects: Mapping[tuple[str, str], Any] = field(default_factory=dict)  # live parts, by kind and name
    verb: Mapping[str, Any] = field(
        default_factory=lambda: {"name": "study"}
    )  # the verb whose result it is, and its options
    executor: Any = None  # a name, {name, **settings} or an object; the verb may set another
    notes: tuple[str, ...] = ()  # lines to show before it runs
    path: Path | None = None  # of the study file; None: it is no file


def paper_options(tau: float | None, *, is_added: bool) -> dict[str, Any]:
    """What a stored result keeps about the rule of the CPG paper; a tau that is given adds the rule."""
    return {"paper": is_added or tau is not None, **({} if tau is None else {"tau": tau})}


def study_of(spec: StudySpec, objects: Mapping[tuple[str, str], Any] | None = None) -> Study:
    """The cells of a study: floor, oracle and models of each setting, seed by seed, in the order of the sweeps."""
    count = _count_cells(spec)
    if count > MAX_CELLS:
        raise BadInput(f"the study '{spec.study.name}' has {count:,} cells, and {MAX_CELLS:,} are the most")
    spec = _with_labels(spec)
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
        tuple(dict.fromkeys(metric_texts(study.metrics))),
        spec.text,
        spec.folder,
        objects or {},
        {
            "name": "study",
            **paper_options(study.tau, is_added=bool(catalog.preset_settings(study.preset).get("verdict"))),
        },
        study.executor,
        spec.notes,
        spec.path,
    )


def trainings_of(cells: list[Cell] | list[Diagnostic]) -> dict[str, Training]:
    """The trainings that cells need, by key."""
    found = (training_of_cell(cell) for cell in cells)
    return {training.key: training for training in found if training is not None}


def training_of_cell(cell: Cell | Diagnostic) -> Training | None:
    """The training that a cell needs, or None."""
    if isinstance(cell, Diagnostic):
        return training_of(cell.environment, cell.model)
    return training_of(cell.task.environment, cell.arm.model)


def _count_cells(spec: StudySpec) -> int:
    study = spec.study
    worlds = len(spec.environments) * len(spec.perturbations) * len(spec.criteria) * len(study.seeds)
    models = sum(max(1, len(_checkpoints(entry.keys.recipe(0))[1])) for entry in spec.models if entry.keys.trainer)
    models += sum(entry.keys.trainer is None for entry in spec.models)
    return worlds * max(1, len(spec.planners)) * max(1, len(spec.objectives)) * (1 + models + len(spec.policies))


def _cells(spec: StudySpec) -> Iterator[Cell]:
    study = spec.study
    for environment, perturbation, criterion in product(spec.environments, spec.perturbations, spec.criteria):
        part = perturbation.keys.part
        task = Task(
            environment.keys.part,
            criterion.keys.text,
            criterion.keys.stop,
            study.horizon,
            part,
            0.0 if part is None else perturbation.keys.probability,
            None if part is None else perturbation.keys.step,
        )
        world = (environment, perturbation, criterion)
        labels = _labels(*world)
        for place, seed in enumerate(study.seeds):
            shared = {"task": task, "seed": seed, "episodes": study.episodes, "shared_labels": labels}
            if study.floor and (spec.planners or spec.policies or any(one.keys.policy for one in spec.models)):
                floor = Arm(FLOOR, policy={"name": "random"}, base=FLOOR)
                yield Cell(arm=floor, labels=labels, **_origins(spec, *world), **shared)
            for policy in spec.policies:
                arm = Arm(arm_name(policy), policy=policy.keys.part, base=policy.keys.name)
                yield Cell(arm=arm, labels=_labels(*world, policy), **_origins(spec, *world, policy), **shared)
            for planner, objective in product(spec.planners or (None,), spec.objectives or (None,)):
                planned = [entry for entry in (objective, planner) if entry is not None]
                yield from _cells_of_setting(spec, planner, objective, [*world, *planned], shared, place)


def _cells_of_setting(
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
            yield Cell(arm=arm, labels=labels, **_origins(spec, *entries), **shared)
    for entry in spec.models:
        policy = entry.keys.policy_part
        if planner is None and policy is None:
            continue
        own = {} if policy is None else {"policy": policy["name"]}
        for name, model, own_labels in _models(spec, entry, place, shared["task"].environment):
            arm = Arm(name, policy=policy, model=model, base=entry.keys.name, **planning)
            origins = _origins(spec, *entries, entry)
            yield Cell(arm=arm, labels={**labels, **own, **entry.labels, **own_labels}, **origins, **shared)


def _diagnostics(spec: StudySpec) -> Iterator[Diagnostic]:
    for diagnostic in spec.diagnostics:
        elsewhere, own = environment_part(diagnostic.keys.environment), diagnostic.keys.objective_part
        places = [(elsewhere, None)] if elsewhere else [(one.keys.part, one) for one in spec.environments]
        scores = [(one.keys.part, one) for one in spec.objectives] if own is None else []
        for (environment, place), (objective, score) in product(places, scores or [(own, None)]):
            entries = [entry for entry in (place, score, diagnostic) if entry is not None]
            yield from _diagnostic_cells(spec, diagnostic, environment, objective, entries)


def _diagnostic_cells(
    spec: StudySpec,
    diagnostic: StudyEntry,
    environment: dict[str, Any],
    objective: dict[str, Any] | None,
    entries: list[StudyEntry],
) -> Iterator[Diagnostic]:
    """The cells of a diagnostic in one environment: of the models, or of the oracle if there are none."""
    shared, labels = (diagnostic.keys.part, environment, objective), _labels(*entries)
    for place, seed in enumerate(spec.study.seeds):
        source = _source_of(spec, diagnostic, place, environment)
        if not spec.models:
            yield Diagnostic(*shared, ORACLE, None, seed, source, labels, ORACLE, **_origins(spec, *entries))
        for entry in spec.models:
            origins = _origins(spec, *entries, entry)
            for name, model, own_labels in _models(spec, entry, place, environment):
                at = {**labels, **entry.labels, **own_labels}
                yield Diagnostic(*shared, name, model, seed, source, at, entry.keys.name, **origins)


def _source_of(
    spec: StudySpec, diagnostic: StudyEntry, place: int, environment: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The model whose own policy visits the states of a diagnostic: the first, if its policy is named."""
    policy = diagnostic.keys.settings.get("source")
    if not isinstance(policy, str) or not any(own in policy for own in ("prior", "native")):
        return None
    if not spec.models:
        raise BadInput(f"'{policy}' is a model's own policy: give a model to visit the states")
    name, model, _ = _models(spec, spec.models[0], place, environment)[0]
    return {"name": name, **model}


def _with_labels(spec: StudySpec) -> StudySpec:
    """The study with the labels of what its entries sweep; a name that two kinds sweep is qualified by the kind."""
    listed = [(kind, entry) for name, kind in ENTRY_KINDS.items() for entry in getattr(spec, name)]
    keys = {_setting_of(kind, key) for kind, entry in listed for key in entry.swept}
    uses = Counter(label_name(*key) for key in keys)

    def label(entry: StudyEntry, kind: str) -> StudyEntry:
        settings = {key: _setting_of(kind, key) for key in entry.swept}
        names = {key: label_name(*one, is_ambiguous=uses[label_name(*one)] > 1) for key, one in settings.items()}
        labels = {names[key]: label_value(value) for key, value in entry.swept.items()}
        sweeps = {names[key]: f"{of[0]}.{SAME_SETTING.get(of, of[1])}" for key, of in settings.items()}
        return replace(entry, labels=labels, sweeps=sweeps)

    return replace(
        spec, **{name: [label(one, kind) for one in getattr(spec, name)] for name, kind in ENTRY_KINDS.items()}
    )


def _setting_of(kind: str, key: str) -> tuple[str, str]:
    """The kind and the setting that a swept key names: `policy.iterations` of a model is a setting of its policy."""
    first, dot, rest = key.partition(".")
    return (first, rest) if dot and first in ENTRY_KINDS.values() else (kind, key)


def _labels(*entries: StudyEntry) -> dict[str, Any]:
    """The labels of the swept keys."""
    return {label: value for entry in entries for label, value in entry.labels.items()}


def _origins(spec: StudySpec, *entries: StudyEntry) -> dict[str, dict[str, str]]:
    """The settings that the labels belong to, and where the study file has each part."""
    sweeps = {label: setting for entry in entries for label, setting in entry.sweeps.items()}
    places = {} if spec.path is None else {entry.kind: f"{spec.path}: {entry.place}" for entry in entries}
    return {"sweeps": sweeps, "places": places}


def _models(
    spec: StudySpec, entry: StudyEntry, place: int, environment: Mapping[str, Any]
) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """The arms of a model; an error names the place of its entry."""
    return with_place(spec.path, entry.place, lambda: list(_arms_of(entry, place, spec.folder, environment)))


def _arms_of(
    entry: StudyEntry, place: int, folder: Path, environment: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """The arms of a model: (name, what identifies the model, labels).

    A retrained model runs the episodes of its own seed.
    """
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
        settings = keys.object_settings
        yield name, {"object": keys.object, **({"settings": settings} if settings else {})}, {}
    elif keys.given:
        yield name, {"given": keys.name, **({} if keys.weights is None else {"weights": keys.weights})}, {}
    else:
        recipe = keys.recipe(seed)
        unit, checkpoints = _checkpoints(recipe)
        label = "checkpoint" if unit in entry.labels else unit
        for at in checkpoints:
            yield f"{name}@{at}", {"trainer": recipe, "at": at, **use}, {label: at}
        if not checkpoints:
            yield name, {"trainer": recipe, **use}, {}


def _checkpoints(recipe: Mapping[str, Any]) -> tuple[str, tuple[int, ...]]:
    """The unit in which a recipe counts its intermediate checkpoints, and their positions."""
    name, settings = catalog.name_and_settings(recipe, "trainer")
    trainer = catalog.TRAINERS.build(name, **settings)
    checkpoints = trainer.checkpoint_updates
    return trainer.counts_in() if implements(trainer, HasProgressUnit) else "updates", checkpoints
