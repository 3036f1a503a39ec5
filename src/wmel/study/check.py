"""Refusing a study that cannot be run, before anything runs: every part built once."""

from collections.abc import Callable
from typing import Any

from wmel import catalog
from wmel.closed_loop import judge
from wmel.contract.cell import Cell
from wmel.contract.criterion import Criterion
from wmel.errors import BadInput, WmelError
from wmel.study.build import built_environment


def check_cells(cells: list[Cell]) -> None:
    """Build what the cells name; the first thing that cannot be built is said with the cell it is for."""
    worlds: dict[str, Any] = {}
    seen: set[str] = set()
    for cell in cells:
        where = f"{cell.environment} {cell.environment_settings}"
        if where not in worlds:
            worlds[where] = _tried(cell, lambda one=cell: built_environment(one.environment, one.environment_settings))
        what = f"{cell.setting} {cell.arm} {cell.model if cell.seed == cells[0].seed else ''}"
        if what not in seen:
            seen.add(what)
            _tried(cell, lambda cell=cell, where=where: _check(cell, worlds[where]))


def _tried(cell: Cell, work: Callable[[], Any]) -> Any:
    try:
        return work()
    except WmelError as error:
        raise BadInput(f"{cell.name}: {error}") from error


def _check(cell: Cell, world: Any) -> None:
    criterion = None if cell.success is None else Criterion.parse(cell.success)
    criterion = criterion or world.default_criterion
    if criterion is None:
        raise BadInput("there is no criterion of success: add [[criteria]] with success = 'reward>=0.6'")
    judge.stop_rule(criterion, cell.stop)
    if cell.perturbation is not None:
        catalog.perturbation(cell.perturbation).check(world)
    if cell.planner is not None:
        settings = {name: value for name, value in cell.planner.items() if name != "name"}
        if cell.objective is not None:
            settings["objective"] = cell.objective
        catalog.policy(cell.planner["name"], world, **settings, **_model(cell))
    if cell.model is not None and "trainer" in cell.model:
        from wmel.training.recipes import recipe  # torch is needed only here

        settings = {name: tuple(value) if name == "hidden" else value for name, value in cell.model["settings"].items()}
        recipe(world, cell.model["trainer"], **settings)


def _model(cell: Cell) -> dict[str, Any]:
    if cell.model is None or "object" not in cell.model:
        return {}
    return {"model": catalog.MODELS.load(cell.model["object"])}
