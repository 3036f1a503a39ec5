"""Refusing a study that cannot be run, before anything is spent: every part built, every model asked for one plan."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wmel.closed_loop.run import episode_seeds
from wmel.contract.cell import ORACLE, Cell, Diagnostic
from wmel.contract.criterion import Criterion, held, stop_rule
from wmel.contract.policy import Percept
from wmel.control_suite import WITH_LEVELS
from wmel.errors import BadInput, WmelError, described, place_of
from wmel.experiments.build import (
    ModelPaths,
    build_diagnostic,
    build_environment,
    build_model,
    build_perturbation,
    build_policy,
    build_trainer,
)
from wmel.experiments.jobs import is_whole
from wmel.randomness import Streams
from wmel.schema import PLANNING

STARTS = 2  # first states that a policy is tried in: one that breaks in all of them is broken


def check_cells(cells: list[Cell], paths: ModelPaths, *, needs_criterion: bool) -> None:
    """Build what the cells name and try it; the first thing that cannot work is said with the cell it is for."""
    seen: set[str] = set()
    oracles: dict[str, Any] = {}  # how the oracle's arm of a setting plans
    for cell in cells:
        what = f"{cell.setting} {cell.arm.name} {cell.arm.model if cell.seed == cells[0].seed else ''}"
        if what not in seen:
            seen.add(what)
            _tried(cell.name, lambda cell=cell: _check(cell, paths, oracles, needs_criterion=needs_criterion))


def check_diagnostics(cells: list[Diagnostic], paths: ModelPaths) -> None:
    """The same of diagnostics."""
    for cell in cells:
        _tried(cell.name, lambda cell=cell: _check_diagnostic(cell, paths))


def other_tasks(cells: Sequence[Cell | Diagnostic], paths: ModelPaths) -> list[str]:
    """Warnings of checkpoints that fit an environment by their shapes and were trained on another task."""
    found: dict[tuple[str, str], str] = {}
    used = {_environment_and_model(cell) for cell in cells}
    for environment, checkpoint in sorted(one for one in used if one is not None):
        from wmel.training.checkpoints import read_card  # torch is needed only here

        then = read_card(paths.folder / checkpoint)["model"].get("environment")
        tasks = {WITH_LEVELS.get(name, name) for name in (str(one).partition("[")[0] for one in (then, environment))}
        if then is not None and len(tasks) > 1:
            found.setdefault((then, environment), f"{checkpoint} was trained on {then}, and this is {environment}")
    return list(found.values())


def _environment_and_model(cell: Cell | Diagnostic) -> tuple[str, str] | None:
    """The name of the environment and the checkpoint of a cell, where it has one."""
    environment, model = (
        (cell.environment, cell.model) if isinstance(cell, Diagnostic) else (cell.task.environment, cell.arm.model)
    )
    return None if model is None or "checkpoint" not in model else (environment["name"], model["checkpoint"])


def _tried(where: str, work: Callable[[], Any]) -> Any:
    try:
        return work()
    except WmelError as error:
        raise type(error)(f"{where}: {error}") from error


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
    model = _model(task.environment, cell.arm.model, world, paths)
    policy = build_policy(cell.arm, world, model, paths)
    _compare_planning(cell, policy, oracles)
    _try_one_plan(policy, world, cell)
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
    build_diagnostic(cell).check(world, _model(cell.environment, cell.model, world, paths), cell.objective)


def _model(environment: Any, model: Any, world: Any, paths: ModelPaths) -> Any:
    """The model of a cell, untrained where it will be trained; None for the oracle."""
    folder = paths.folder_of(environment, model)
    if model is not None and "trainer" in model and folder is not None and not is_whole(folder):
        from wmel.training.checkpoints import untrained  # torch is needed only here

        return untrained(world, build_trainer(model["trainer"], paths), paths.device, model.get("rollout"))
    return build_model(environment, model, paths)


def _try_one_plan(policy: Any, world: Any, cell: Cell) -> None:
    """One decision in each of a few starts; a policy that breaks in every one of them is refused."""
    errors: list[Exception] = []
    for seed in episode_seeds(cell.seed, min(STARTS, cell.episodes)):
        try:
            _decide(policy, world, np.array([seed]), cell.task.horizon)
            return
        except Exception as error:
            errors.append(error)
    error = errors[-1]
    raise BadInput(f"it breaks at its first decision: {described(error)}{place_of(error)}") from error


def _decide(policy: Any, world: Any, seeds: np.ndarray, horizon: int | None) -> None:
    states, actions = world.reset(seeds), world.spec.actions
    steps = np.full(len(seeds), world.spec.max_steps if horizon is None else horizon)
    last = np.zeros((len(seeds), actions.width), actions.dtype)
    percept = Percept(world.observe(states), world.goals(states), states, last, steps).visible_to(policy.reads)
    memory = policy.observe(percept, None)
    policy.act(percept, memory, Streams(seeds, np.zeros(len(seeds), np.int64)))
