"""Imagining: the only loop over the horizon."""

from collections.abc import Callable

from wmel.arrays import Array, namespace_of
from wmel.contract.abilities import able
from wmel.contract.world_model import RollsOut, WorldModel
from wmel.errors import BadModel


def rollout(model: WorldModel, latents: Array, actions: Array) -> Array:
    """latents [M,Z], actions as the model takes them [M,H,A] -> latents [M,H+1,Z], the start included."""
    if able(model, RollsOut):
        trajectory, wanted = model.rollout(latents, actions), (actions.shape[1] + 1, latents.shape[1])
        if tuple(trajectory.shape[1:]) != wanted:
            raise BadModel(
                f"a rollout must return {wanted} latents per row, the start included, got {trajectory.shape}"
            )
        return trajectory
    return step_by_step(model.step, latents, actions)


def step_by_step(step: Callable[[Array, Array], Array], start: Array, actions: Array) -> Array:
    """start [M,Z], actions [M,H,A] -> [M,H+1,Z], laid out step by step in memory."""
    trajectory = [start]
    for now in range(actions.shape[1]):
        trajectory.append(step(trajectory[-1], actions[:, now]))
        if trajectory[-1].shape != start.shape:
            raise BadModel(f"a step must keep the shape of its latents {start.shape}, got {trajectory[-1].shape}")
    return namespace_of(start).stack(trajectory).swapaxes(0, 1)


def decoded(model: WorldModel, trajectory: Array) -> Array:
    """latents [M,H+1,Z] -> observations [M,H+1,O], in one call of the decoder."""
    by_step = trajectory.swapaxes(0, 1)  # rollouts lie in memory step by step: flattening this way copies nothing
    observations = model.decode(by_step.reshape(-1, trajectory.shape[-1]))
    return observations.reshape(*by_step.shape[:2], -1).swapaxes(0, 1)
