"""Imagination: a model rolls out action sequences, which become costs, in chunks that fit the cache."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wmel.arrays import (
    Array,
    as_like,
    copy_array,
    describe_array,
    is_real,
    namespace_of,
    no_grad_unless_required,
    one_hot,
    select_rows,
    to_contiguous,
    to_int32,
)
from wmel.contract.environment import Box, Space
from wmel.contract.objective import ClosestApproach, ModelReward, Objective, Reduction
from wmel.contract.planner import CandidateCosts
from wmel.contract.world_model import HasReward, HasRollout, WorldModel
from wmel.errors import BadModel
from wmel.parts import implements

BYTES_PER_CHUNK = 1 << 20  # of imagined observations, about the cache of a core


def rollout(model: WorldModel, latents: Array, actions: Array) -> Array:
    """latents [M,Z], inputs of the model [M,H,A] -> latents [M,H+1,Z] including the start."""
    if implements(model, HasRollout):
        trajectory, expected = model.rollout(latents, actions), (actions.shape[1] + 1, latents.shape[1])
        if tuple(trajectory.shape[1:]) != expected:
            raise BadModel(
                f"a rollout must return {expected} latents per row including the start, got {trajectory.shape}"
            )
        return trajectory
    return rollout_by_steps(isolate_step(model.step), latents, actions)


def isolate_step(step: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """A step that may write its latents, and may return the same array at every call."""
    return lambda latents, actions: copy_array(step(copy_array(latents), actions))


def rollout_by_steps(step: Callable[[Array, Array], Array], start: Array, actions: Array) -> Array:
    """start [M,Z], actions [M,H,A] -> [M,H+1,Z], with the steps as the slowest axis in memory."""
    trajectory = [start]
    for now in range(actions.shape[1]):
        trajectory.append(step(trajectory[-1], actions[:, now]))
        if trajectory[-1].shape != start.shape:
            raise BadModel(f"a step must keep the shape of its latents {start.shape}, got {trajectory[-1].shape}")
    return namespace_of(start).stack(trajectory).swapaxes(0, 1)


def decode_trajectory(model: WorldModel, trajectory: Array) -> Array:
    """latents [M,H+1,Z] -> observations [M,H+1,O], by one call of the decoder."""
    by_step = trajectory.swapaxes(0, 1)  # the memory order of rollouts, so that reshaping copies nothing
    observations = model.decode(by_step.reshape(-1, trajectory.shape[-1]))
    return observations.reshape(*by_step.shape[:2], -1).swapaxes(0, 1)


def reduce_costs(reduction: Reduction, costs: Array) -> CandidateCosts:
    """Step costs [M,H] -> costs [M] and lengths [M] of the plans."""
    if isinstance(reduction, ClosestApproach):
        return closest_approach(costs)
    return discounted_sum(costs, reduction.rate)


def closest_approach(costs: Array) -> CandidateCosts:
    """The lowest step cost [M]. The plan is cut at the first step that reaches it, unless the last step does too."""
    xp = namespace_of(costs)
    by_step = costs.swapaxes(0, 1)
    lowest = xp.amin(by_step, axis=0)
    above = by_step != lowest
    horizon = len(by_step)
    narrow = xp.int8 if horizon <= 64 else xp.int32  # numbers are at most 2 * horizon - 1
    steps = xp.arange(1, horizon + 1, dtype=narrow, device=costs.device)
    earliest = xp.amin(above * (steps[-1] - 1) + steps[:, None], axis=0)  # steps above the lowest cost count as later
    lengths = xp.where(above[-1], earliest, steps[-1])
    return CandidateCosts(lowest, to_int32(lengths))


def discounted_sum(costs: Array, rate: float) -> CandidateCosts:
    """The discounted sum of all step costs [M], and the whole plan."""
    xp = namespace_of(costs)
    total, weight = xp.zeros_like(costs[:, 0]), 1.0
    for step in range(costs.shape[1]):
        total = total + weight * costs[:, step]
        weight *= rate
    return CandidateCosts(total, xp.full_like(total, costs.shape[1], dtype=xp.int64))


@dataclass(frozen=True, eq=False)
class ImaginedCost:
    """The cost function of a planning problem, for candidates [B,N,H,A]. Rows are imagined in chunks.

    The chunk size changes the memory, and at most the last digits of a model's matrix products.
    """

    model: WorldModel
    objective: Objective | ModelReward
    space: Space
    latents: Array  # [B,Z]
    goals: Array  # [B,G]
    observation_width: int
    bytes_per_chunk: int = BYTES_PER_CHUNK

    def __call__(self, candidates: Array) -> CandidateCosts:
        batch, count, horizon, width = candidates.shape
        widest = max(self.observation_width, self.latents.shape[1])
        rows = max(1, self.bytes_per_chunk // (4 * (horizon + 1) * widest))
        actions = candidates.reshape(batch * count, horizon, width)
        with no_grad_unless_required(candidates, self.latents):
            parts = [
                self._imagine(start, count, actions[start : start + rows]) for start in range(0, len(actions), rows)
            ]
            if len(parts) == 1:
                return CandidateCosts(*(part.reshape(batch, count) for part in (parts[0].costs, parts[0].lengths)))
        xp = namespace_of(parts[0].costs)
        costs = xp.concatenate([part.costs for part in parts]).reshape(batch, count)
        lengths = xp.concatenate([part.lengths for part in parts]).reshape(batch, count)
        return CandidateCosts(costs, lengths)

    def _imagine(self, start: int, count: int, actions: Array) -> CandidateCosts:
        """Costs of the rows [M,H,A] that begin at row `start` of B episodes x `count` candidates."""
        episodes = (start + np.arange(len(actions))) // count
        goals = as_like(self.goals, actions)
        imagined = imagine(
            self.model, self.objective, self.space, self.latents, goals, episodes, actions, self.observation_width
        )
        return reduce_costs(self.objective.reduction, imagined.costs)


@dataclass(frozen=True, eq=False)
class ImaginedRollout:
    """The imagined result of action sequences: latents including the start, and step costs."""

    trajectory: Array  # [M,H+1,Z]
    costs: Array  # [M,H], in the library of the actions


def imagine(
    model: WorldModel,
    objective: Objective | ModelReward,
    space: Space | None,
    latents: Array,
    goals: Array,
    rows: np.ndarray,
    actions: Array,
    observation_width: int | None = None,
) -> ImaginedRollout:
    """Imagines action sequences [M,H,A]. `rows` [M] are their rows of latents [B,Z] and goals [B,G].

    Without a space, actions are numbers. Without a width, the decoder may have any.
    """
    length = len(actions)
    missing = -length % model.spec.row_multiple
    if missing:
        padded = np.arange(length + missing).clip(max=length - 1)  # repeats the last row
        rows, actions = rows[padded], select_rows(actions, padded)
    latents, goals = select_rows(latents, rows), select_rows(goals, rows)
    by_step = to_contiguous(actions.swapaxes(0, 1))  # it is read step by step
    values = (by_step if space is None else space.as_values(by_step)).swapaxes(0, 1)
    inputs = as_like(model_input(model, space, by_step.swapaxes(0, 1), values), latents)
    trajectory = _require_real(rollout(model, latents, inputs), "latents", model.spec.name)
    costs = _step_costs(model, objective, trajectory, inputs, values, goals, observation_width)
    return ImaginedRollout(trajectory[:length], costs[:length])


def _require_real(array: Array, what: str, model_name: str) -> Array:
    """The array. Raises BadModel unless it holds real numbers."""
    if not is_real(array):
        raise BadModel(f"{what} of {model_name} must be arrays of real numbers, got {describe_array(array)}")
    return array


def _step_costs(
    model: WorldModel,
    objective: Objective | ModelReward,
    trajectory: Array,
    inputs: Array,
    values: Array,
    goals: Array,
    observation_width: int | None,
) -> Array:
    """Costs of steps 1..H of imagined trajectories [M,H+1,Z]."""
    name = model.spec.name
    if isinstance(objective, ModelReward):
        assert implements(model, HasReward), "the caller checks that the model has a reward"
        return as_like(-_require_real(model.rewards(trajectory, inputs), "rewards", name), values)
    observations = as_like(_require_real(decode_trajectory(model, trajectory), "observations", name), values)
    if observation_width not in (None, observations.shape[-1]):
        raise BadModel(
            f"decode of {model.spec.name} must return {observation_width} numbers per row, as the environment is "
            f"observed; got {observations.shape[-1]}"
        )
    costs = objective.costs(observations, values, goals)
    xp = namespace_of(observations)
    if xp.isfinite(observations.sum()):
        return costs
    finite = xp.isfinite(observations[:, 1:]).all(-1)
    return xp.where(finite, costs, float("nan"))  # even if the objective ignores that component


def model_input(model: WorldModel, space: Space | None, actions: Array, values: Array) -> Array:
    """Actions [...,A] as the input of the model: finite actions as index, value or one-hot, as its spec declares."""
    if space is None or isinstance(space, Box) or model.spec.action_input == "value":
        return values
    return actions if model.spec.action_input == "index" else one_hot(actions[..., 0], space.count)
