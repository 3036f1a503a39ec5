"""Trials of parts before a study runs: a reset, a perturbation, a step and a decision; errors name the user's code."""

from collections.abc import Callable
from typing import Any

import numpy as np

from wmel.arrays import as_like, to_numpy
from wmel.closed_loop.steps import check_pending_step, check_quantities, check_rows
from wmel.contract.criterion import Criterion, is_met
from wmel.contract.environment import Finite
from wmel.contract.perturbation import Delivery, PendingStep
from wmel.contract.policy import Decision, Percept
from wmel.contract.world_model import HasRollout
from wmel.errors import BadDecision, BadInput, describe_error, locate_code, locate_error
from wmel.kinds import implements
from wmel.models.callable_model import CallableModel, adapt_model
from wmel.models.imagine import model_input
from wmel.perturbations.window import perturb_actions, perturb_observations, perturb_step
from wmel.randomness import Streams


def try_environment(world: Any, perturbation: Any, criterion: Criterion | None, seeds: np.ndarray) -> None:
    """Tries a reset, a perturbation if there is one, one step, and the judgement of it."""

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
        _try_perturbation(world, perturbation, pending, observations, seeds)
    values = space.as_values(actions)
    after = attempt("step", states, values, rows="states")
    quantities = _attempt(
        world, "quantities", "environment", lambda: check_quantities(world.quantities(states, values, after), 1)
    )
    if criterion is not None:
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


def try_decision(policy: Any, model: Any, world: Any, seeds: np.ndarray, horizon: int | None) -> None:
    """Tries one decision in one start state."""
    try:
        percept = _first_percept(world, seeds, horizon).visible_to(policy.reads)
        memory = policy.observe(percept, None)
        decision = policy.act(percept, memory, Streams(seeds, np.zeros(len(seeds), np.int64)))
        if not isinstance(decision, Decision):
            place = locate_code(type(policy).act)
            raise BadDecision(f"act must return a Decision, got a {type(decision).__name__}{place}")
    except (Exception, SystemExit) as error:
        reason = f"{describe_error(error)}{place_in_user_code(error, model, world)}"
        raise BadInput(f"it breaks at its first decision: {reason}") from error
    if decision.errors:
        reason = f"{next(iter(decision.errors.values()))}{place_in_user_code(None, model, world)}"
        raise BadInput(f"it breaks at its first decision: {reason}")


def _attempt(part: Any, method: str, kind: str, work: Callable[[], Any]) -> Any:
    """The result of a method of a part; an error, also of an unusable result, is raised as BadInput with its place."""
    try:
        return work()
    except (Exception, SystemExit) as error:
        if isinstance(error, BadInput):
            raise
        place = locate_error(error) or locate_code(getattr(type(part), method, None))
        raise BadInput(f"its {kind} breaks in {method}: {describe_error(error)}{place}") from error


def _first_percept(world: Any, seeds: np.ndarray, horizon: int | None = None) -> Percept:
    """What a policy observes at the first step."""
    states, actions = world.reset(seeds), world.spec.actions
    steps = np.full(len(seeds), world.spec.max_steps if horizon is None else horizon)
    last = np.zeros((len(seeds), actions.width), actions.dtype)
    return Percept(world.observe(states), world.goals(states), states, last, steps)


def place_in_user_code(error: BaseException | None, model: Any, world: Any) -> str:
    """The place of an error in the user's code, or else of the method that returned an unusable result."""
    here = "" if error is None else locate_error(error)
    if here or model is None or isinstance(error, BadDecision):  # its message names the place
        return here
    try:
        way, adapted = adapt_model(model)
        if isinstance(adapted, CallableModel):
            return locate_code(adapted.dynamics) or locate_code(type(adapted.dynamics))
        method = (unusable_method(adapted, world) or "step") if way == "batched" else "rollout"
        return locate_code(getattr(type(adapted), method))
    except Exception:
        return locate_code(model if isinstance(model, type) else type(model))


def unusable_method(model: Any, world: Any) -> str | None:
    """The method of a batched model whose result has a wrong shape or is not finite; None if all are usable."""
    percept, space = _first_percept(world, np.zeros(1, np.int64)).visible_to(model.spec.reads), world.spec.actions

    def is_wrong(found: Any, shape: tuple[int, ...]) -> bool:
        return np.shape(found) != shape or not np.isfinite(to_numpy(found)).all()

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
