"""States at which diagnostics measure a model."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wmel.closed_loop.run import episode_seeds, run_episodes
from wmel.closed_loop.trajectories import Trajectories
from wmel.contract.criterion import Stop
from wmel.contract.environment import Environment
from wmel.contract.policy import Percept, Policy
from wmel.errors import BadInput, require, require_whole
from wmel.randomness import Streams

FRESH = 5_000_000  # the first of the seeds that neither training nor evaluation uses
EPISODES = 16


@dataclass(frozen=True, eq=False)
class Observations:
    """B observations; an interval treats those of one episode as one cluster."""

    percept: Percept
    episodes: np.ndarray  # [B] their seeds
    steps: np.ndarray  # [B] the step of the episode
    source: str

    def __len__(self) -> int:
        return len(self.episodes)

    @property
    def streams(self) -> Streams:
        """Noise that depends only on the episode and the step of an observation."""
        return Streams(self.episodes, self.steps)


def given_observations(numbers: object, goals: object = None) -> Observations:
    """The caller's own observations [B,O]; each is a cluster of its own."""
    array = _to_numbers(numbers, "observations must be numbers [B,O]")
    if array.ndim != 2 or array.size == 0:
        raise BadInput(f"observations must be numbers [B,O], at least one of each, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise BadInput("observations must be finite")
    count = len(array)
    goal = np.zeros((count, 0)) if goals is None else _to_numbers(goals, "goals must be numbers [B,G]")
    if goal.ndim != 2 or len(goal) != count:
        raise BadInput(f"goals must be numbers [B,G] with B = {count}, got shape {goal.shape}")
    percept = Percept(array, goal, None, np.zeros((count, 0)), np.zeros(count, np.int64))
    return Observations(percept, np.arange(count), np.zeros(count, np.int64), "given")


def fresh_observations(
    environment: Environment,
    policy: Policy,
    states: int = 64,
    *,
    episodes: int | None = None,
    episode_steps: int | None = None,
    seed: int = 0,
    progress: Callable[[float], None] = lambda episodes: None,
) -> Observations:
    """States that a policy visits, spread evenly over 16 episodes and over the time of each.

    The episodes are fresh: no training and no evaluation uses their seeds.
    """
    require_whole(states, "the number of states")
    episodes = min(EPISODES, states) if episodes is None else episodes
    require_whole(episodes, "the number of episodes")
    require_whole(seed, "the seed of fresh episodes", at_least=0)
    require(episodes <= states, f"{states} states come from at most as many episodes", episodes)
    steps = environment.spec.max_steps if episode_steps is None else episode_steps
    seeds = episode_seeds(FRESH + seed, episodes)
    arrays = run_fresh_episodes(environment, policy, seeds, steps, progress)
    episode = np.sort(np.arange(states) % episodes)
    each = np.bincount(episode)
    place = np.concatenate([np.arange(count) for count in each])
    uniforms = Streams(seeds, np.zeros_like(seeds)).uniforms("esnr states", (int(each.max()),))[0]
    lengths = arrays["steps"][episode]
    if (each[episode] > lengths).any():
        raise BadInput(f"{states} states do not fit into {episodes} episodes, one of which has {lengths.min()} steps")
    step = ((place + uniforms[episode, place]) / each[episode] * lengths).astype(np.int64).clip(max=lengths - 1)
    found = arrays["states"][episode, step].astype(environment.reset(seeds[:1]).dtype)
    last = np.where(step[:, None] > 0, arrays["actions"][episode, step - 1], 0)
    percept = Percept(environment.observe(found), environment.goals(found), found, last, steps - step)
    episode_words = f"{episodes} fresh episodes of {policy.name}, {steps} steps each, in {environment.spec.name}"
    return Observations(percept, seeds[episode], step, f"{states} states of {episode_words}")


def run_fresh_episodes(
    environment: Environment,
    policy: Policy,
    seeds: np.ndarray,
    steps: int,
    progress: Callable[[float], None] = lambda episodes: None,
) -> dict[str, np.ndarray]:
    """The trajectories of a policy as arrays; raises BadInput if an episode ends in an error."""
    record = Trajectories()
    table = run_episodes(
        environment, policy, seeds, max_steps=steps, stop=Stop.HORIZON, timed_decisions=0, record=record,
        progress=progress,
    )  # fmt: skip
    errors = [message for message in table["error"] if message]
    if errors:
        raise BadInput(f"{len(errors)} of {len(seeds)} episodes of {policy.name} broke: {errors[0]}")
    return record.arrays(environment, table)


def _to_numbers(values: object, what: str) -> np.ndarray:
    try:
        return np.asarray(values, np.float64)
    except (RuntimeError, TypeError, ValueError) as error:
        raise BadInput(f"{what}: {error}") from error
