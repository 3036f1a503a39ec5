"""Refusing a study that cannot be run, before anything is spent: every part built, every model asked for one plan."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wmel.arrays import as_like, to_numpy
from wmel.closed_loop.run import episode_seeds
from wmel.closed_loop.steps import check_pending_step, check_quantities, check_rows
from wmel.contract.cell import ORACLE, Cell, Diagnostic, Part
from wmel.contract.criterion import Criterion, is_met, stop_rule
from wmel.contract.environment import Finite
from wmel.contract.perturbation import Delivery, PendingStep
from wmel.contract.policy import Decision, Percept
from wmel.contract.world_model import HasRollout
from wmel.control_suite import WITH_LEVELS
from wmel.errors import BadDecision, BadInput, WmelError, describe_error, locate_code, locate_error
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
from wmel.kinds import implements
from wmel.models.callable_model import CallableModel, adapt_model
from wmel.models.imagine import model_input
from wmel.perturbations.window import perturb_actions, perturb_observations, perturb_step
from wmel.randomness import Streams
from wmel.schema import PLANNING

STARTS = 2  # first states that a policy is tried in: one that breaks in all of them is broken


@dataclass(frozen=True, eq=False)
class _Tried:
    """What is known of cells that were tried."""

    oracles: dict[str, Any] = field(default_factory=dict)  # how the oracle's arm of a setting plans
    tasks: set[str] = field(default_factory=set)


def check_cells(cells: list[Cell], paths: ModelPaths, *, needs_criterion: bool) -> None:
    """Build what the cells name and try it; the first thing that cannot work is said with the cell it is for.

    One cell of each kind is tried; of those that differ in their seed alone, the checkpoints are checked.
    """
    tried = _Tried()
    _try_each_kind(
        cells,
        paths,
        lambda cell: f"{cell.setting} {json.dumps(cell.arm.policy)}",
        lambda cell: _check(cell, paths, tried, needs_criterion=needs_criterion),
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
    except (Exception, SystemExit) as error:
        if not locate_error(error) and not isinstance(error, SystemExit):
            raise
        raise BadInput(f"{where}: {describe_error(error)}{locate_error(error)}") from error


def _check(cell: Cell, paths: ModelPaths, tried: _Tried, *, needs_criterion: bool) -> None:
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
    words = json.dumps(cell.as_data()["task"], sort_keys=True)
    if words not in tried.tasks:
        _in_some_start(cell, lambda seeds: _try_world(world, perturbation, criterion, seeds))
        tried.tasks.add(words)
    model = build_model_to_try(task.environment, cell.arm.model, paths)
    policy = build_policy(cell.arm, world, model, paths)
    _compare_planning(cell, policy, tried.oracles)
    _in_some_start(cell, lambda seeds: _try_one_plan(policy, model, world, seeds, task.horizon))


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


def _in_some_start(cell: Cell, work: Callable[[np.ndarray], None]) -> None:
    """Try in each of a few starts until it works; what is refused in all of them is refused."""
    seeds = episode_seeds(cell.seed, min(STARTS, cell.episodes))
    for place, seed in enumerate(seeds):
        try:
            return work(np.array([seed]))
        except BadInput:
            if place + 1 == len(seeds):
                raise


def _attempt(part: Any, method: str, kind: str, work: Callable[[], Any]) -> Any:
    """What a method of a part makes; one that breaks, or returns something unusable, is refused with its place."""
    try:
        return work()
    except (Exception, SystemExit) as error:
        if isinstance(error, BadInput):
            raise
        place = locate_error(error) or locate_code(getattr(type(part), method, None))
        raise BadInput(f"its {kind} breaks in {method}: {describe_error(error)}{place}") from error


def _try_world(world: Any, perturbation: Any, criterion: Criterion | None, seeds: np.ndarray) -> None:
    """One start, one strike where there is a perturbation, one step, and what is judged of it."""

    def attempt(method: str, *given: Any, rows: str) -> Any:
        return _attempt(world, method, "environment", lambda: check_rows(getattr(world, method)(*given), 1, rows))

    space = world.spec.actions
    zeros = np.zeros((1, space.width), space.dtype)
    actions = zeros if isinstance(space, Finite) else space.nearest(zeros)
    states = attempt("reset", seeds, rows="states")
    observations = attempt("observe", states, rows="observations")
    attempt("goals", states, rows="goals")
    if perturbation is not None:
        pending = PendingStep(states.copy(), actions[:, None], np.ones(1, np.int64), zeros, np.zeros(1, np.int64))
        _try_strike(world, perturbation, pending, observations, seeds)
    values = space.as_values(actions)
    after = attempt("step", states, values, rows="states")
    quantities = _attempt(
        world, "quantities", "environment", lambda: check_quantities(world.quantities(states, values, after), 1)
    )
    if criterion is not None:
        is_met(criterion, quantities)


def _try_strike(world: Any, perturbation: Any, pending: PendingStep, seen: np.ndarray, seeds: np.ndarray) -> None:
    """All that a perturbation does at its step."""
    space, since, streams = world.spec.actions, pending.since, Streams(seeds, np.zeros(1, np.int64))

    def attempt(method: str, work: Callable[[], Any]) -> Any:
        return _attempt(perturbation, method, "perturbation", work)

    carried = attempt("carry", lambda: perturbation.carry(world, 1))
    attempt("sense", lambda: perturb_observations(perturbation, seen, since, streams))
    attempt("strike", lambda: check_pending_step(perturb_step(perturbation, world, pending, streams), space, 1))
    attempt("deliver", lambda: perturb_actions(perturbation, world, Delivery(pending.queue[:, 0], since, carried)))


def _check_diagnostic(cell: Diagnostic, paths: ModelPaths) -> None:
    world = build_environment(cell.environment, paths)
    model = build_model_to_try(cell.environment, cell.model, paths)
    try:
        build_diagnostic(cell, paths).check(world, model, cell.objective)
        way, adapted = ("", None) if model is None else adapt_model(model)
        wrong = _unusable(adapted, world) if way == "batched" else None
    except (Exception, SystemExit) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"it breaks when it is read: {describe_error(error)}{_place(error, model, world)}") from error
    if wrong is not None:
        place = _place(None, model, world)
        raise BadInput(f"its model cannot be read: {wrong} returns a wrong shape or a number that is not finite{place}")


def _try_one_plan(policy: Any, model: Any, world: Any, seeds: np.ndarray, horizon: int | None) -> None:
    """One decision in one start."""
    try:
        percept = _percept(world, seeds, horizon).visible_to(policy.reads)
        memory = policy.observe(percept, None)
        decision = policy.act(percept, memory, Streams(seeds, np.zeros(len(seeds), np.int64)))
        if not isinstance(decision, Decision):
            place = locate_code(type(policy).act)
            raise BadDecision(f"act must return a Decision, got a {type(decision).__name__}{place}")
    except (Exception, SystemExit) as error:
        reason = f"{describe_error(error)}{_place(error, model, world)}"
        raise BadInput(f"it breaks at its first decision: {reason}") from error
    if decision.errors:
        reason = f"{next(iter(decision.errors.values()))}{_place(None, model, world)}"
        raise BadInput(f"it breaks at its first decision: {reason}")


def _percept(world: Any, seeds: np.ndarray, horizon: int | None = None) -> Percept:
    """What a policy sees first."""
    states, actions = world.reset(seeds), world.spec.actions
    steps = np.full(len(seeds), world.spec.max_steps if horizon is None else horizon)
    last = np.zeros((len(seeds), actions.width), actions.dtype)
    return Percept(world.observe(states), world.goals(states), states, last, steps)


def _place(error: BaseException | None, model: Any, world: Any) -> str:
    """Where the user's code broke, or else where the method is written that returned something unusable."""
    here = "" if error is None else locate_error(error)
    if here or model is None or isinstance(error, BadDecision):  # which says by itself where it is from
        return here
    try:
        way, adapted = adapt_model(model)
        if isinstance(adapted, CallableModel):
            return locate_code(adapted.dynamics) or locate_code(type(adapted.dynamics))
        method = (_unusable(adapted, world) or "step") if way == "batched" else "rollout"
        return locate_code(getattr(type(adapted), method))
    except Exception:
        return locate_code(model if isinstance(model, type) else type(model))


def _unusable(model: Any, world: Any) -> str | None:
    """The method of a batched model whose result has another shape than it should, or is not finite."""
    percept, space = _percept(world, np.zeros(1, np.int64)).visible_to(model.spec.reads), world.spec.actions

    def is_wrong(found: Any, shape: tuple[int, ...]) -> bool:
        return np.shape(found) != shape or not np.isfinite(to_numpy(found)).all()

    latents, decode = model.encode(percept, None), model.decode
    if np.ndim(latents) != 2 or is_wrong(latents, (1, np.shape(latents)[1])):
        return "encode"
    actions = np.zeros((1, 1, space.width), space.dtype)
    inputs = as_like(model_input(model, space, actions, space.as_values(actions)), latents)
    if implements(model, HasRollout):
        way, wrong = "rollout", is_wrong(model.rollout(latents, inputs), (1, 2, latents.shape[1]))
    else:
        way, wrong = "step", is_wrong(model.step(latents, inputs[:, 0]), latents.shape)
    if wrong:
        return way
    return "decode" if is_wrong(decode(latents), percept.observation.shape) else None
