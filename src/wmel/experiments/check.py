"""Refusing a study that cannot be run, before anything is spent: every part built, every model asked for one plan."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wmel.closed_loop.run import episode_seeds
from wmel.contract.cell import ORACLE, Cell, Diagnostic, Part
from wmel.contract.criterion import Criterion, held, stop_rule
from wmel.contract.policy import Percept
from wmel.control_suite import WITH_LEVELS
from wmel.errors import BadInput, WmelError, described, place_of, place_of_code
from wmel.experiments.build import (
    ModelPaths,
    build_diagnostic,
    build_environment,
    build_model_to_try,
    build_perturbation,
    build_policy,
    check_checkpoint,
    kind_of,
)
from wmel.randomness import Streams
from wmel.schema import PLANNING

STARTS = 2  # first states that a policy is tried in: one that breaks in all of them is broken


def check_cells(cells: list[Cell], paths: ModelPaths, *, needs_criterion: bool) -> None:
    """Build what the cells name and try it; the first thing that cannot work is said with the cell it is for.

    One cell of each kind is tried; of those that differ in their seed alone, the checkpoints are checked.
    """
    oracles: dict[str, Any] = {}  # how the oracle's arm of a setting plans
    _try_each_kind(
        cells,
        paths,
        lambda cell: f"{cell.setting} {json.dumps(cell.arm.policy)}",
        lambda cell: _check(cell, paths, oracles, needs_criterion=needs_criterion),
    )


def check_diagnostics(cells: list[Diagnostic], paths: ModelPaths) -> None:
    """The same of diagnostics."""
    _try_each_kind(
        cells,
        paths,
        lambda cell: json.dumps([cell.diagnostic, cell.environment, cell.objective]),
        lambda cell: _check_diagnostic(cell, paths),
    )


def other_tasks(cells: Sequence[Cell | Diagnostic], paths: ModelPaths) -> list[str]:
    """Warnings of checkpoints that fit an environment by their shapes and were trained on another task."""
    found: dict[tuple[str, str], str] = {}
    models = map(_model_of, cells)
    used = {(environment["name"], model["checkpoint"]) for environment, model in models if "checkpoint" in model}
    for environment, checkpoint in sorted(used):
        from wmel.training.checkpoints import read_card  # torch is needed only here

        then = read_card(paths.folder / checkpoint)["model"].get("environment")
        tasks = {WITH_LEVELS.get(name, name) for name in (str(one).partition("[")[0] for one in (then, environment))}
        if then is not None and len(tasks) > 1:
            found.setdefault((then, environment), f"{checkpoint} was trained on {then}, and this is {environment}")
    return list(found.values())


def _model_of(cell: Cell | Diagnostic) -> tuple[Part, Mapping[str, Any]]:
    """The environment and the model of a cell, empty where it has none."""
    if isinstance(cell, Diagnostic):
        return cell.environment, cell.model or {}
    return cell.task.environment, cell.arm.model or {}


def _try_each_kind(
    cells: Sequence[Any], paths: ModelPaths, words: Callable[[Any], str], check: Callable[[Any], None]
) -> None:
    """Check one cell of each kind; models with names of their own are kinds of their own, but for those of a recipe."""
    tried: set[str] = set()
    sound: set[str] = set()

    def try_one(cell: Any) -> None:
        environment, model = _model_of(cell)
        arm = cell.arm if isinstance(cell, Diagnostic) else cell.arm.name
        kind = f"{words(cell)} {'' if 'trainer' in model else arm} {kind_of(model, paths)}"
        files = f"{paths.folder_of(environment, model or None)} {json.dumps(environment)}"
        if kind not in tried:
            tried.add(kind)
            check(cell)
        elif files not in sound:
            check_checkpoint(environment, model or None, paths)
        sound.add(files)

    for cell in cells:
        _refuse_with_place(cell.name, lambda cell=cell: try_one(cell))


def _refuse_with_place(where: str, work: Callable[[], Any]) -> None:
    """What breaks is refused with the cell it is for; what breaks in code of the user's own, with its place too."""
    try:
        work()
    except WmelError as error:
        raise type(error)(f"{where}: {error}") from error
    except Exception as error:
        if not place_of(error):
            raise
        raise BadInput(f"{where}: {described(error)}{place_of(error)}") from error


def _check(cell: Cell, paths: ModelPaths, oracles: dict[str, Any], *, needs_criterion: bool) -> None:
    task = cell.task
    world = build_environment(task.environment, paths)
    criterion = None if task.criterion is None else Criterion.parse(task.criterion)
    criterion = criterion or world.default_criterion
    if criterion is None and needs_criterion:
        raise BadInput("there is no criterion of success: give one, such as criterion = 'reward>=0.6'")
    stop_rule(criterion, task.stop)
    perturbation = build_perturbation(task.perturbation, paths)
    if perturbation is not None:
        perturbation.check(world)
    model = build_model_to_try(task.environment, cell.arm.model, paths)
    policy = build_policy(cell.arm, world, model, paths)
    _compare_planning(cell, policy, oracles)
    _try_one_plan(policy, model, world, cell)
    quantities = _quantities(world)
    if criterion is not None and quantities is not None:
        held(criterion, quantities)


def _compare_planning(cell: Cell, policy: Any, oracles: dict[str, Any]) -> None:
    """Refuse a model that plans otherwise than the oracle it will be compared with, unless it acts by itself."""
    if cell.arm.planner is None or cell.arm.policy is not None:
        return
    if cell.arm.name == ORACLE:
        oracles[cell.setting] = policy.settings
    wanted = oracles.get(cell.setting, policy.settings)
    for name in PLANNING:
        if wanted.get(name) != policy.settings.get(name):
            raise BadInput(
                f"it differs from the oracle's arm in more than its model: its {name} is "
                f"{policy.settings.get(name)}, there it is {wanted.get(name)}"
            )


def _quantities(world: Any) -> dict[str, np.ndarray] | None:
    """The named numbers of one step; None where an environment breaks, which is for its rows to say."""
    try:
        states, action = world.reset(np.zeros(1, np.int64)), world.spec.actions.idle(1)
        return world.quantities(states, action, world.step(states, action))
    except Exception:
        return None


def _check_diagnostic(cell: Diagnostic, paths: ModelPaths) -> None:
    world = build_environment(cell.environment, paths)
    model = build_model_to_try(cell.environment, cell.model, paths)
    try:
        build_diagnostic(cell).check(world, model, cell.objective)
    except Exception as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"it breaks when it is read: {described(error)}{_place(error, model)}") from error


def _try_one_plan(policy: Any, model: Any, world: Any, cell: Cell) -> None:
    """One decision in each of a few starts; a policy that decides in none of them is refused."""
    reason, cause = "", None
    for seed in episode_seeds(cell.seed, min(STARTS, cell.episodes)):
        try:
            errors = _decide(policy, world, np.array([seed]), cell.task.horizon)
            if not errors:
                return
            reason = f"{errors[0]}{_place(None, model)}"
        except Exception as error:
            reason, cause = f"{described(error)}{_place(error, model)}", error
    raise BadInput(f"it breaks at its first decision: {reason}") from cause


def _decide(policy: Any, world: Any, seeds: np.ndarray, horizon: int | None) -> Mapping[int, str]:
    """One decision; why there is none, by row."""
    states, actions = world.reset(seeds), world.spec.actions
    steps = np.full(len(seeds), world.spec.max_steps if horizon is None else horizon)
    last = np.zeros((len(seeds), actions.width), actions.dtype)
    percept = Percept(world.observe(states), world.goals(states), states, last, steps).visible_to(policy.reads)
    memory = policy.observe(percept, None)
    return policy.act(percept, memory, Streams(seeds, np.zeros(len(seeds), np.int64))).errors


def _place(error: BaseException | None, model: Any) -> str:
    """Where the user's code broke, or else where the model is written that returned something unusable."""
    here = "" if error is None else place_of(error)
    kind = model if isinstance(model, type) or not hasattr(type(model), "step") else type(model)
    return here or place_of_code(getattr(kind, "step", None) or getattr(kind, "rollout", None) or kind)
