"""Checks of a study before it runs: every part is built and tried; errors name the user's code."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wmel.arrays import as_like, is_real, to_numpy
from wmel.catalog import build_objective
from wmel.closed_loop.run import episode_seeds
from wmel.closed_loop.steps import check_pending_step, check_quantities, check_rows
from wmel.contract.cell import ORACLE, Cell, Diagnostic, Part
from wmel.contract.criterion import Criterion, is_met, stop_rule
from wmel.contract.environment import EnvironmentSpec, Finite
from wmel.contract.perturbation import Delivery, Disturbance, PendingStep
from wmel.contract.policy import Decision, Percept
from wmel.contract.world_model import HasRollout
from wmel.control_suite import WITH_LEVELS
from wmel.errors import BadDecision, BadInput, WmelError, describe_error, locate_code, locate_error, require
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
from wmel.machine import limit_blas_threads
from wmel.models.callable_model import CallableModel, adapt_model
from wmel.models.imagine import model_input
from wmel.parts import implements
from wmel.perturbations import perturb_actions, perturb_observations, perturb_step
from wmel.randomness import Streams
from wmel.schema import PLANNING

STARTS = 2  # start states in which a policy is tried; one that fails in all of them is refused


@dataclass(frozen=True, eq=False)
class _CheckedCells:
    """What the checks of earlier cells found."""

    oracles: dict[str, Any] = field(default_factory=dict)  # setting -> the settings of its oracle's policy
    tasks: set[str] = field(default_factory=set)  # that were tried


def check_cells(cells: list[Cell], paths: ModelPaths, *, needs_criterion: bool) -> None:
    """Builds and tries the parts that cells name; raises BadInput with the first cell that cannot run and its place.

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

    with limit_blas_threads():
        for cell in cells:
            environment, model = _model_of(cell)
            with _errors_with_place(cell, "model"):
                arm = cell.arm if isinstance(cell, Diagnostic) else cell.arm.name
                kind = f"{words(cell)} {'' if 'trainer' in model else arm} {model_kind(model, paths)}"
                files = f"{paths.folder_of(environment, model or None)} {json.dumps(environment)}"
                if kind in kinds and files not in checked_files:
                    check_checkpoint(environment, model or None, paths)
            if kind not in kinds:
                kinds.add(kind)
                check(cell)
            checked_files.add(files)


@contextmanager
def _errors_with_place(cell: Cell | Diagnostic, *kinds: str) -> Iterator[None]:
    """An error names the cell, the entry of the study file that has a part of these kinds, and the user's own code."""
    entry = next((f"{cell.places[kind]}: " for kind in kinds if kind in cell.places), "")
    try:
        yield
    except WmelError as error:
        raise type(error)(f"{entry}{cell.name}: {error}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, Exception) and not locate_error(error):
            raise
        raise BadInput(f"{entry}{cell.name}: {describe_error(error)}{locate_error(error)}") from error


def _check_cell(cell: Cell, paths: ModelPaths, checked: _CheckedCells, *, needs_criterion: bool) -> None:
    task, arm = cell.task, cell.arm
    with _errors_with_place(cell, "environment"):
        world = build_environment(task.environment, paths)
        require(isinstance(world.spec, EnvironmentSpec), "the spec of an environment must be an EnvironmentSpec", world)
    with _errors_with_place(cell, "criterion"):
        criterion = None if task.criterion is None else Criterion.parse(task.criterion)
        criterion = criterion or world.default_criterion
        if criterion is None and needs_criterion:
            raise BadInput("there is no criterion of success: give one, such as criterion = 'reward>=0.6'")
        stop_rule(criterion, task.stop)
    with _errors_with_place(cell, "perturbation"):
        perturbation = build_perturbation(task.perturbation, paths)
        if perturbation is not None:
            steps = world.spec.max_steps if task.horizon is None else task.horizon
            Disturbance(perturbation, task.probability, task.step).check(world, steps)
    task_data = json.dumps(cell.as_data()["task"], sort_keys=True)
    if task_data not in checked.tasks:
        _in_some_start(cell, lambda seeds: _try_environment(cell, world, perturbation, criterion, seeds))
        checked.tasks.add(task_data)
    with _errors_with_place(cell, "model"):
        model = build_model_for_check(task.environment, arm.model, paths)
    acting = ("planner",) if arm.policy is None else ("policy", "model")
    with _errors_with_place(cell, *(acting if _has_objective(arm.objective, world) else ("objective",))):
        policy = build_policy(arm, world, model, paths)
    with _errors_with_place(cell, "model", *acting):
        _compare_planning(cell, policy, checked.oracles)
        _in_some_start(cell, lambda seeds: _try_decision(policy, model, world, seeds, task.horizon))


def _has_objective(objective: Part | None, world: Any) -> bool:
    """Whether an environment supports an objective; a live one counts as supported."""
    try:
        return objective is None or "given" in objective or bool(build_objective(objective, world))
    except WmelError:
        return False


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
    with _errors_with_place(cell, "environment"):
        world = build_environment(cell.environment, paths)
    with _errors_with_place(cell, "model"):
        model = build_model_for_check(cell.environment, cell.model, paths)
    kinds = ("diagnostic",) if _has_objective(cell.objective, world) else ("objective", "diagnostic")
    with _errors_with_place(cell, *kinds):
        _try_diagnostic(cell, world, model, paths)


def _try_diagnostic(cell: Diagnostic, world: Any, model: Any, paths: ModelPaths) -> None:
    """Checks a diagnostic of a model, and that the model can be read."""
    try:
        build_diagnostic(cell, paths).check(world, model, cell.objective)
        way, adapted = ("", None) if model is None else adapt_model(model)
        method = _unusable_method(adapted, world) if way == "batched" else None
    except BaseException as error:
        if isinstance(error, BadInput | KeyboardInterrupt):
            raise
        raise BadInput(
            f"it breaks when it is read: {describe_error(error)}{_place_in_user_code(error, model, world)}"
        ) from error
    if method is not None:
        place = _place_in_user_code(None, model, world)
        raise BadInput(
            f"its model cannot be read: {method} returns a wrong shape or a number that is not finite{place}"
        )


def _try_environment(cell: Cell, world: Any, perturbation: Any, criterion: Criterion | None, seeds: np.ndarray) -> None:
    """Tries a reset, a perturbation if there is one, one step, and the judgement of it."""

    def attempt(method: str, *arguments: Any, rows: str, width: int | None = None) -> Any:
        def call() -> np.ndarray:
            return check_rows(getattr(world, method)(*arguments), 1, rows, width)

        return _attempt(world, method, "environment", call)

    with _errors_with_place(cell, "environment"):
        space = world.spec.actions
        zeros = np.zeros((1, space.width), space.dtype)
        actions = zeros if isinstance(space, Finite) else space.nearest(zeros)
        states = attempt("reset", seeds, rows="states")
        observations = attempt("observe", states, rows="observations", width=len(world.spec.observation))
        attempt("goals", states, rows="goals")
    if perturbation is not None:
        pending = PendingStep(states.copy(), actions[:, None], np.ones(1, np.int64), zeros, np.zeros(1, np.int64))
        with _errors_with_place(cell, "perturbation"):
            _try_perturbation(world, perturbation, pending, observations, seeds)
    with _errors_with_place(cell, "environment"):
        values = space.as_values(actions)
        after = attempt("step", states.copy(), values, rows="states", width=states.shape[1])
        quantities = _attempt(
            world, "quantities", "environment", lambda: check_quantities(world.quantities(states, values, after), 1)
        )
    if criterion is not None:
        with _errors_with_place(cell, "criterion"):
            is_met(criterion, quantities)


def _try_perturbation(
    world: Any, perturbation: Any, pending: PendingStep, observations: np.ndarray, seeds: np.ndarray
) -> None:
    """Tries every method of a perturbation at its step."""
    space, since, streams = world.spec.actions, pending.since, Streams(seeds, np.zeros(1, np.int64))

    def attempt(method: str, work: Callable[[], Any]) -> Any:
        return _attempt(perturbation, method, "perturbation", work)

    carried = attempt("carry", lambda: perturbation.carry(world, 1))
    attempt("sense", lambda: perturb_observations(perturbation, observations, since, streams))
    attempt("strike", lambda: check_pending_step(perturb_step(perturbation, world, pending, streams), space, 1))
    attempt("deliver", lambda: perturb_actions(perturbation, world, Delivery(pending.queue[:, 0], since, carried)))


def _try_decision(policy: Any, model: Any, world: Any, seeds: np.ndarray, horizon: int | None) -> None:
    """Tries one decision in one start state."""
    try:
        percept = _first_percept(world, seeds, horizon).visible_to(policy.reads)
        memory = policy.observe(percept, None)
        decision = policy.act(percept, memory, Streams(seeds, np.zeros(len(seeds), np.int64)))
        if not isinstance(decision, Decision):
            place = locate_code(type(policy).act)
            raise BadDecision(f"act must return a Decision, got a {type(decision).__name__}{place}")
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        reason = f"{describe_error(error)}{_place_in_user_code(error, model, world)}"
        raise BadInput(f"it breaks at its first decision: {reason}") from error
    if decision.errors:
        reason = f"{next(iter(decision.errors.values()))}{_place_in_user_code(None, model, world)}"
        raise BadInput(f"it breaks at its first decision: {reason}")


def _attempt(part: Any, method: str, kind: str, work: Callable[[], Any]) -> Any:
    """The result of a method of a part; an error, also of an unusable result, is raised as BadInput with its place."""
    try:
        return work()
    except BaseException as error:
        if isinstance(error, BadInput | KeyboardInterrupt):
            raise
        place = locate_error(error) or locate_code(getattr(type(part), method, None))
        raise BadInput(f"its {kind} breaks in {method}: {describe_error(error)}{place}") from error


def _first_percept(world: Any, seeds: np.ndarray, horizon: int | None = None) -> Percept:
    """What a policy observes at the first step."""
    states, actions = world.reset(seeds), world.spec.actions
    steps = np.full(len(seeds), world.spec.max_steps if horizon is None else horizon)
    last = np.zeros((len(seeds), actions.width), actions.dtype)
    return Percept(world.observe(states), world.goals(states), states, last, steps)


def _place_in_user_code(error: BaseException | None, model: Any, world: Any) -> str:
    """The place of an error in the user's code, or else of the method that returned an unusable result."""
    here = "" if error is None else locate_error(error)
    if here or model is None or isinstance(error, BadDecision):  # its message names the place
        return here
    try:
        way, adapted = adapt_model(model)
        if isinstance(adapted, CallableModel):
            return locate_code(adapted.dynamics) or locate_code(type(adapted.dynamics))
        method = (_unusable_method(adapted, world) or "step") if way == "batched" else "rollout"
        return locate_code(getattr(type(adapted), method))
    except (Exception, SystemExit):
        return locate_code(model if isinstance(model, type) else type(model))


def _unusable_method(model: Any, world: Any) -> str | None:
    """The method of a batched model whose result has a wrong shape or is not finite; None if all are usable."""
    percept, space = _first_percept(world, np.zeros(1, np.int64)).visible_to(model.spec.reads), world.spec.actions

    def is_wrong(found: Any, shape: tuple[int, ...]) -> bool:
        return np.shape(found) != shape or not is_real(found) or not np.isfinite(to_numpy(found)).all()

    latents, decode = model.encode(percept, None), model.decode
    if np.ndim(latents) != 2 or is_wrong(latents, (1, np.shape(latents)[1])):
        return "encode"
    actions = np.zeros((1, 1, space.width), space.dtype)
    inputs = as_like(model_input(model, space, actions, space.as_values(actions)), latents)
    if implements(model, HasRollout):
        method, wrong = "rollout", is_wrong(model.rollout(latents, inputs), (1, 2, latents.shape[1]))
    else:
        method, wrong = "step", is_wrong(model.step(latents, inputs[:, 0]), latents.shape)
    if wrong:
        return method
    return "decode" if is_wrong(decode(latents), percept.observation.shape) else None
