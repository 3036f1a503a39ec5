"""Checks of a study before it runs: every part is built, and every arm makes one decision."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wmel.closed_loop.run import episode_seeds
from wmel.contract.cell import ORACLE, Cell, Diagnostic, Part
from wmel.contract.criterion import Criterion, stop_rule
from wmel.contract.perturbation import Disturbance
from wmel.control_suite import WITH_LEVELS
from wmel.errors import BadInput, WmelError, describe_error, locate_error
from wmel.experiments.build import (
    ModelPaths,
    build_diagnostic,
    build_environment,
    build_model_for_check,
    build_perturbation,
    build_policy,
    check_checkpoint,
    model_kind,
)
from wmel.experiments.trials import place_in_user_code, try_decision, try_environment, unusable_method
from wmel.models.callable_model import adapt_model
from wmel.schema import PLANNING

STARTS = 2  # start states in which a policy is tried; one that fails in all of them is refused


@dataclass(frozen=True, eq=False)
class _CheckedCells:
    """What the checks of earlier cells found."""

    oracles: dict[str, Any] = field(default_factory=dict)  # setting -> the settings of its oracle's policy
    tasks: set[str] = field(default_factory=set)  # that were tried


def check_cells(cells: list[Cell], paths: ModelPaths, *, needs_criterion: bool) -> None:
    """Builds and tries the parts that cells name; raises BadInput with the name of the first cell that cannot run.

    One cell of each kind is tried. Of cells that differ in their seed alone, only the checkpoints are checked.
    """
    checked = _CheckedCells()
    _check_each_kind(
        cells,
        paths,
        lambda cell: f"{cell.setting} {json.dumps(cell.arm.policy)}",
        lambda cell: _check_cell(cell, paths, checked, needs_criterion=needs_criterion),
    )


def check_diagnostics(cells: list[Diagnostic], paths: ModelPaths) -> None:
    """The same for diagnostics."""
    _check_each_kind(
        cells,
        paths,
        lambda cell: json.dumps([cell.diagnostic, cell.environment, cell.objective]),
        lambda cell: _check_diagnostic(cell, paths),
    )


def find_other_tasks(cells: Sequence[Cell | Diagnostic], paths: ModelPaths) -> list[str]:
    """Warnings about checkpoints that fit an environment by their shapes but were trained on another task."""
    warnings: dict[tuple[str, str], str] = {}
    models = map(_model_of, cells)
    used = {(environment["name"], model["checkpoint"]) for environment, model in models if "checkpoint" in model}
    for environment, checkpoint in sorted(used):
        from wmel.training.checkpoints import read_card  # torch is needed only here

        trained_on = read_card(paths.folder / checkpoint)["model"].get("environment")
        names = (str(one).partition("[")[0] for one in (trained_on, environment))
        if trained_on is not None and len({WITH_LEVELS.get(name, name) for name in names}) > 1:
            warning = f"{checkpoint} was trained on {trained_on}, and this is {environment}"
            warnings.setdefault((trained_on, environment), warning)
    return list(warnings.values())


def _model_of(cell: Cell | Diagnostic) -> tuple[Part, Mapping[str, Any]]:
    """The environment and the model of a cell; empty if it has no model."""
    if isinstance(cell, Diagnostic):
        return cell.environment, cell.model or {}
    return cell.task.environment, cell.arm.model or {}


def _check_each_kind(
    cells: Sequence[Any], paths: ModelPaths, words: Callable[[Any], str], check: Callable[[Any], None]
) -> None:
    """Checks one cell of each kind; models with different names are different kinds, unless a recipe trained them."""
    kinds: set[str] = set()
    checked_files: set[str] = set()

    def check_one(cell: Any) -> None:
        environment, model = _model_of(cell)
        arm = cell.arm if isinstance(cell, Diagnostic) else cell.arm.name
        kind = f"{words(cell)} {'' if 'trainer' in model else arm} {model_kind(model, paths)}"
        files = f"{paths.folder_of(environment, model or None)} {json.dumps(environment)}"
        if kind not in kinds:
            kinds.add(kind)
            check(cell)
        elif files not in checked_files:
            check_checkpoint(environment, model or None, paths)
        checked_files.add(files)

    for cell in cells:
        _name_cell_in_errors(cell.name, lambda cell=cell: check_one(cell))


def _name_cell_in_errors(cell: str, work: Callable[[], Any]) -> None:
    """Runs the work; an error names the cell, and its place if it is in the user's own code."""
    try:
        work()
    except WmelError as error:
        raise type(error)(f"{cell}: {error}") from error
    except (Exception, SystemExit) as error:
        if not locate_error(error) and not isinstance(error, SystemExit):
            raise
        raise BadInput(f"{cell}: {describe_error(error)}{locate_error(error)}") from error


def _check_cell(cell: Cell, paths: ModelPaths, checked: _CheckedCells, *, needs_criterion: bool) -> None:
    task = cell.task
    world = build_environment(task.environment, paths)
    criterion = None if task.criterion is None else Criterion.parse(task.criterion)
    criterion = criterion or world.default_criterion
    if criterion is None and needs_criterion:
        raise BadInput("there is no criterion of success: give one, such as criterion = 'reward>=0.6'")
    stop_rule(criterion, task.stop)
    perturbation = build_perturbation(task.perturbation, paths)
    if perturbation is not None:
        steps = world.spec.max_steps if task.horizon is None else task.horizon
        Disturbance(perturbation, task.probability, task.step).check(world, steps)
    task_data = json.dumps(cell.as_data()["task"], sort_keys=True)
    if task_data not in checked.tasks:
        _in_some_start(cell, lambda seeds: try_environment(world, perturbation, criterion, seeds))
        checked.tasks.add(task_data)
    model = build_model_for_check(task.environment, cell.arm.model, paths)
    policy = build_policy(cell.arm, world, model, paths)
    _compare_planning(cell, policy, checked.oracles)
    _in_some_start(cell, lambda seeds: try_decision(policy, model, world, seeds, task.horizon))


def _compare_planning(cell: Cell, policy: Any, oracles: dict[str, Any]) -> None:
    """Raises BadInput if a model plans with other settings than the oracle it is compared with.

    A model with a policy of its own is not compared.
    """
    if cell.arm.planner is None or cell.arm.policy is not None:
        return
    if cell.arm.name == ORACLE:
        oracles[cell.setting] = policy.settings
    expected = oracles.get(cell.setting, policy.settings)
    for name in PLANNING:
        if expected.get(name) != policy.settings.get(name):
            raise BadInput(
                f"it differs from the oracle's arm in more than its model: its {name} is "
                f"{policy.settings.get(name)}, there it is {expected.get(name)}"
            )


def _in_some_start(cell: Cell, work: Callable[[np.ndarray], None]) -> None:
    """Tries the work in a few start states until it succeeds; raises the last error if it fails in all."""
    seeds = episode_seeds(cell.seed, min(STARTS, cell.episodes))
    for place, seed in enumerate(seeds):
        try:
            return work(np.array([seed]))
        except BadInput:
            if place + 1 == len(seeds):
                raise


def _check_diagnostic(cell: Diagnostic, paths: ModelPaths) -> None:
    world = build_environment(cell.environment, paths)
    model = build_model_for_check(cell.environment, cell.model, paths)
    try:
        build_diagnostic(cell, paths).check(world, model, cell.objective)
        way, adapted = ("", None) if model is None else adapt_model(model)
        method = unusable_method(adapted, world) if way == "batched" else None
    except (Exception, SystemExit) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(
            f"it breaks when it is read: {describe_error(error)}{place_in_user_code(error, model, world)}"
        ) from error
    if method is not None:
        place = place_in_user_code(None, model, world)
        raise BadInput(
            f"its model cannot be read: {method} returns a wrong shape or a number that is not finite{place}"
        )
