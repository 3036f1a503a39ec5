"""dm_control itself, to compare with."""

import warnings
from dataclasses import dataclass

import numpy as np

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from dm_control import suite


def flat(observation) -> np.ndarray:
    return np.concatenate([np.ravel(observation[key]) for key in sorted(observation)])


@dataclass
class Played:
    """One episode of dm_control under given controls: T+1 states and observations, T rewards."""

    positions: np.ndarray
    velocities: np.ndarray
    observations: np.ndarray
    rewards: np.ndarray


def played(task: str, seed: int, controls: np.ndarray) -> Played:
    domain, name = task.split("-")
    environment = suite.load(domain, name, task_kwargs={"random": seed})
    steps = [environment.reset()]
    physics = environment.physics
    positions, velocities = [physics.data.qpos.copy()], [physics.data.qvel.copy()]
    for control in controls:
        steps.append(environment.step(control))
        positions.append(physics.data.qpos.copy())
        velocities.append(physics.data.qvel.copy())
    seen = np.stack([flat(step.observation) for step in steps])
    return Played(np.stack(positions), np.stack(velocities), seen, np.array([step.reward for step in steps[1:]]))
