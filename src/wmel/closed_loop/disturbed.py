"""When a perturbation strikes, and what a policy sees through it."""

import numpy as np

from wmel.contract.abilities import able
from wmel.contract.environment import Environment, Recoverable
from wmel.contract.perturbation import Disturbance, Perturbation
from wmel.perturbations.window import sensed
from wmel.randomness import Streams

NEVER = np.iinfo(np.int64).max


def strike_steps(disturbance: Disturbance | None, seeds: np.ndarray, max_steps: int) -> np.ndarray:
    """The step [B], as given or uniform in 1..max_steps//2, at which each episode is struck; NEVER where it is not.

    A function of the episode seed alone: every arm meets the same schedule.
    """
    steps = np.full(len(seeds), NEVER)
    if disturbance is None:
        return steps
    chance, place = Streams(seeds, np.zeros_like(seeds)).uniforms("schedule", (2,))[0].T
    latest = max(1, max_steps // 2)
    drawn = 1 + (place * latest).astype(np.int64)
    return np.where(chance < disturbance.probability, drawn if disturbance.step is None else disturbance.step, steps)


def seen_through(
    perturbation: Perturbation,
    environment: Environment,
    states: np.ndarray,
    since: np.ndarray,
    streams: Streams,
) -> tuple[np.ndarray, np.ndarray]:
    """Observations [B,O], and the states [B,S] that go with them for those who may read the state.

    Where the sensed observation differs from the true one, that is the state recovered from it, if the environment can
    tell; otherwise the true state, and the result holds a sensing gap besides the model's.
    """
    observations = environment.observe(states)
    seen = sensed(perturbation, observations, since, streams)
    changed = np.flatnonzero((seen != observations).any(axis=1))
    if len(changed) and able(environment, Recoverable):
        states = states.copy()
        states[changed] = environment.recover(seen[changed])
    return seen, states
