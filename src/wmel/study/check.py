"""Refusing a study that cannot be run, before anything runs: every part built once."""

from collections.abc import Callable
from typing import Any

from wmel import catalog
from wmel.closed_loop import judge
from wmel.contract.cell import Cell
from wmel.contract.criterion import Criterion
from wmel.errors import BadInput, WmelError
from wmel.study.build import Places, built_environment, built_model, built_policy
from wmel.study.spec import StudySpec


def check_entries(spec: StudySpec) -> None:
    """Refuse what cannot be built by itself, with its place in the file."""
    for entry in spec.environments:
        settings = entry.keys.model_dump(exclude={"name"}, exclude_none=True)
        _tried(f"{spec.path}: {entry.place}", lambda e=entry, s=settings: built_environment(e.keys.name, s))
    for entry in spec.perturbations:
        if entry.keys.name is not None:
            _tried(f"{spec.path}: {entry.place}.name", lambda e=entry: catalog.perturbation(e.keys.name))
    for entry in spec.criteria:
        if entry.keys.success is not None:
            criterion = _tried(f"{spec.path}: {entry.place}.success", lambda e=entry: Criterion.parse(e.keys.success))
            _tried(f"{spec.path}: {entry.place}.stop", lambda e=entry, c=criterion: judge.stop_rule(c, e.keys.stop))
    for name in spec.study.objectives or ():
        _tried(f"{spec.path}: objectives", lambda n=name: catalog.OBJECTIVES.load(n))


def check_cells(cells: list[Cell], places: Places) -> None:
    """Build what the cells name; the first thing that cannot be built is said with the cell it is for."""
    worlds: dict[str, Any] = {}
    seen: set[str] = set()
    for cell in cells:
        where = f"{cell.environment} {cell.environment_settings}"
        if where not in worlds:
            worlds[where] = _tried(
                cell.name, lambda one=cell: built_environment(one.environment, one.environment_settings)
            )
        what = f"{cell.setting} {cell.arm} {cell.model if cell.seed == cells[0].seed else ''}"
        if what not in seen:
            seen.add(what)
            _tried(cell.name, lambda cell=cell, where=where: _check(cell, worlds[where], places))


def _tried(where: str, work: Callable[[], Any]) -> Any:
    try:
        return work()
    except WmelError as error:
        raise BadInput(f"{where}: {error}") from error


def _check(cell: Cell, world: Any, places: Places) -> None:
    criterion = None if cell.success is None else Criterion.parse(cell.success)
    criterion = criterion or world.default_criterion
    if criterion is None:
        raise BadInput("there is no criterion of success: add [[criteria]] with success = 'reward>=0.6'")
    judge.stop_rule(criterion, cell.stop)
    if cell.perturbation is not None:
        catalog.perturbation(cell.perturbation).check(world)
    built_policy(cell, world, _checked_model(cell, world, places))


def _checked_model(cell: Cell, world: Any, places: Places) -> Any:
    """The model of a cell, untrained where it will be trained; None where any of its kind will do."""
    model = cell.model or {}
    said = "rollout" in model or "policy" in model
    if "trainer" in model:
        from wmel.training.recipes import recipe, untrained  # torch is needed only here

        how = recipe(world, model["trainer"], **model["settings"])
        return untrained(world, how, rollout=model.get("rollout")) if said else None
    return built_model(cell, world, places) if said or "object" in model else None
