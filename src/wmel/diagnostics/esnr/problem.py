"""The gradient problem: the returns that a model imagines for action sequences, whose gradients are estimated."""

import math
from dataclasses import dataclass

import numpy as np

from wmel.arrays import Array, as_like, namespace_of, no_grad_unless_required
from wmel.contract.environment import Space
from wmel.contract.objective import ModelReward, Objective
from wmel.contract.world_model import HasReward, HasValue, WorldModel
from wmel.diagnostics.esnr.sampling import EsnrSettings
from wmel.diagnostics.states import Observations
from wmel.errors import BadInput, BadModel, WmelError, describe_error
from wmel.models.imagine import ImaginedRollout, imagine
from wmel.parts import implements


@dataclass(frozen=True, eq=False)
class ImaginedReturns:
    """Rewards of steps 1..H, discounted to the start, and the values of the latents before each step if requested."""

    rewards: Array  # [M,H]
    values: Array | None  # [M,H], discounted likewise


@dataclass(frozen=True, eq=False)
class GradientProblem:
    """The returns that a model assigns to action sequences from each of B observations."""

    model: WorldModel
    objective: Objective | ModelReward
    space: Space | None
    settings: EsnrSettings
    latents: Array  # [B,Z]
    goals: Array  # [B,G]

    def imagine_returns(self, rows: np.ndarray, actions: Array, *, values: bool = False) -> ImaginedReturns:
        """Returns of actions [M,H,A], each sequence from the observation that `rows` [M] names."""
        imagined = self._imagine(rows, actions)
        rate, horizon = self.settings.discount, self.settings.plan_horizon
        weights = as_like(rate ** np.arange(horizon), imagined.costs)
        xp = namespace_of(imagined.costs)
        rewards = -imagined.costs * (weights if xp is np else weights.to(imagined.costs.dtype))
        if self.settings.terminal_value:
            last = rate**horizon * self._values(imagined.trajectory[:, -1:])
            rewards = xp.concatenate([rewards[:, :-1], rewards[:, -1:] + last], axis=1)
        before = self._values(imagined.trajectory[:, :-1]) * weights if values else None
        return ImaginedReturns(rewards, before)

    def imagine_in_chunks(self, rows: np.ndarray, actions: Array, *, values: bool = False) -> ImaginedReturns:
        """The same without gradients, `settings.rows` sequences at a time."""
        size = self.settings.rows
        with no_grad_unless_required(actions):
            parts = [
                self.imagine_returns(rows[start : start + size], actions[start : start + size], values=values)
                for start in range(0, len(actions), size)
            ]
            xp = namespace_of(parts[0].rewards)
            rewards = xp.concatenate([part.rewards for part in parts])
            return ImaginedReturns(rewards, xp.concatenate([part.values for part in parts]) if values else None)

    def _imagine(self, rows: np.ndarray, actions: Array) -> ImaginedRollout:
        try:
            return imagine(self.model, self.objective, self.space, self.latents, self.goals, rows, actions)
        except WmelError:
            raise
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            shapes = f"{len(rows)} latents of {self.latents.shape[1]} and actions {tuple(actions.shape)}"
            raise BadModel(f"{self.model.spec.name} cannot imagine {shapes}: {describe_error(error)}") from error

    def _values(self, trajectory: Array) -> Array:
        assert implements(self.model, HasValue), "values are requested only of a model that has them"
        rows, steps = trajectory.shape[:2]
        return self.model.values(trajectory.reshape(rows * steps, -1)).reshape(rows, steps)


def gradient_problem(
    model: WorldModel,
    observations: Observations,
    settings: EsnrSettings,
    space: Space | None,
    objective: Objective | ModelReward | None,
    method: str,
) -> GradientProblem:
    """The problem of a model at observations; without an objective the model must have a reward of its own."""
    if isinstance(objective, str):
        raise BadInput(f"an objective is an object, not the name {objective!r}: wmel.catalog.objective finds it")
    score = ModelReward() if objective is None else objective
    name, rewards, values = model.spec.name, implements(model, HasReward), implements(model, HasValue)
    if isinstance(score, ModelReward) and not rewards:
        raise BadInput(f"{name} gives no reward of its own: name an objective")
    if (settings.terminal_value or (method == "zog" and settings.baseline == "value")) and not values:
        raise BadInput(f"{name} has no value function: use baseline 'leave_one_out' and no terminal value")
    latents = model.encode(observations.percept.visible_to(model.spec.reads), None)
    if latents.ndim != 2 or len(latents) != len(observations):
        raise BadModel(f"{name} must encode {len(observations)} observations as [B,Z], got {tuple(latents.shape)}")
    if not bool(namespace_of(latents).isfinite(latents).all()):
        raise BadInput(f"{name} encodes an observation as NaN or infinity")
    goals = as_like(observations.percept.goal, latents)
    return GradientProblem(model, score, space, settings, latents, goals)


def repeat_rows(rows: slice, each: int) -> np.ndarray:
    """The observations of a slice, each `each` times."""
    return np.repeat(np.arange(rows.start, rows.stop), each)


def split_observations(observations: int, each: int, rows: int) -> list[slice]:
    """Slices of the observations such that no more than `rows` sequences are sampled at once, `each` per observation.

    A slice has at least one observation.
    """
    size = max(1, rows // max(1, each))
    return [slice(start, min(start + size, observations)) for start in range(0, observations, size)]


def merge_axes(array: Array, keep: int) -> Array:
    """The array with all but its last `keep` axes merged into one."""
    return array.reshape(math.prod(array.shape[:-keep]), *array.shape[-keep:])
