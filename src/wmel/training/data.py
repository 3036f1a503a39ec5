"""Datasets of transitions: collected by a policy or listed, with held-out episodes, and their windows."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from wmel.closed_loop.run import episode_seeds, run_episodes
from wmel.closed_loop.trajectories import Trajectories
from wmel.contract.environment import Enumerable, Environment, Finite, Space
from wmel.contract.policy import Policy
from wmel.errors import BadInput, require_whole
from wmel.parts import implements

TRAINING_SEED_OFFSET = 10_000  # training episodes of seed s are the episodes of seed s + offset: the published formula
EPISODES_AT_ONCE = 64
MAX_ROUNDS = 1000


@dataclass(frozen=True, eq=False)
class Transitions:
    """T transitions, ordered by episode and step."""

    observations: np.ndarray  # [T,O]
    actions: np.ndarray  # [T,A] action values, as executed
    next_observations: np.ndarray  # [T,O]
    episodes: np.ndarray  # [T] episode numbers from 0
    rewards: np.ndarray | None = None  # [T]; None: the environment has no reward

    def __post_init__(self):
        lengths = {len(column) for column in self.columns.values()}
        if len(lengths) != 1 or 0 in lengths:
            raise BadInput(f"transitions require arrays of equal length, at least one row; got {sorted(lengths)} rows")
        for name in ("observations", "actions", "next_observations"):
            if not np.isfinite(getattr(self, name)).all():
                raise BadInput(f"transitions must be finite; their {name} contain NaN or infinity")

    def __len__(self) -> int:
        return len(self.episodes)

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray]) -> "Transitions":
        """The transitions of recorded trajectories, which are padded with NaN after each episode's last step."""
        valid = np.arange(arrays["actions"].shape[1]) < arrays["steps"][:, None]
        episodes = np.broadcast_to(np.arange(len(valid))[:, None], valid.shape)[valid]
        observations, actions, after = (
            arrays[name][valid] for name in ("observations", "actions", "next_observations")
        )
        return cls(observations, actions, after, episodes, arrays["rewards"][valid] if "rewards" in arrays else None)

    @classmethod
    def concatenate(cls, parts: list["Transitions"]) -> "Transitions":
        """All transitions of several parts, in order."""
        return cls(**{name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns})

    def first(self, count: int) -> "Transitions":
        """The first `count` transitions."""
        return self.rows(np.arange(count))

    def rows(self, index: np.ndarray) -> "Transitions":
        """The transitions at some rows."""
        return Transitions(**{name: column[index] for name, column in self.columns.items()})

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The arrays by name, without those that are None."""
        return {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) is not None}

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 hash of observations, actions and next observations as float32."""
        digest = hashlib.sha256()
        for array in (self.observations, self.actions, self.next_observations):
            digest.update(np.ascontiguousarray(array, np.float32).tobytes())
        return digest.hexdigest()


def network_input(space: Space, values: np.ndarray) -> np.ndarray:
    """Action values [...,A] as float32 inputs of a network. Finite actions become one-hot [...,count]."""
    if not isinstance(space, Finite):
        return values.astype(np.float32)
    index = values[..., 0].astype(np.int64)
    if space.values is not None:
        index = np.abs(values[..., None, :] - space.values).sum(axis=-1).argmin(axis=-1)
    return np.eye(space.count, dtype=np.float32)[index]


def window_indices(episodes: np.ndarray, longest: int) -> np.ndarray:
    """The transitions [W,K] of each window, from the episode numbers [T] of all transitions.

    Windows have `longest` steps, or as many as the longest episode if it is shorter. They overlap.
    """
    _, steps = np.unique(episodes, return_counts=True)
    length = min(longest, int(steps.max()))
    starts = np.flatnonzero(episodes[: len(episodes) - length + 1] == episodes[length - 1 :])
    return starts[:, None] + np.arange(length)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Transitions to fit, and held-out episodes."""

    training: Transitions
    held_out: dict[str, np.ndarray] | None  # recorded trajectories; None: nothing is held out

    @property
    def episodes(self) -> int:
        return int(self.training.episodes[-1]) + 1


def collect(
    environment: Environment,
    policy: Policy,
    transitions: int,
    *,
    episode_steps: int = 200,
    seed: int = 0,
    progress: Callable[[float], None] = lambda done: None,
) -> Dataset:
    """Collects transitions with a policy. Episodes stop at success, as in the wmel 0.18 repository.

    A tenth as many further episodes are held out. `progress` is called with the number of new transitions.
    """
    require_whole(transitions, "the number of transitions", at_least=2)
    require_whole(episode_steps, "the steps of an episode")
    parts: list[Transitions] = []
    missing, used = transitions, 0
    while missing > 0 and len(parts) < MAX_ROUNDS:
        episodes = min(EPISODES_AT_ONCE, -(-missing // episode_steps))
        arrays = _play_episodes(environment, policy, seed, used, episodes, episode_steps)
        part = Transitions.of(arrays)
        parts.append(replace(part, episodes=part.episodes + used))
        used += episodes
        progress(min(len(part), missing))
        missing -= len(part)
    if missing > 0:
        raise BadInput(f"{used} episodes gave only {transitions - missing} transitions: they end too early")
    held_out = _play_episodes(environment, policy, seed, used, max(1, used // 10), episode_steps)
    return Dataset(Transitions.concatenate(parts).first(transitions), held_out)


def _play_episodes(
    environment: Environment, policy: Policy, seed: int, first: int, episodes: int, steps: int
) -> dict[str, np.ndarray]:
    """Recorded episodes `first` to `first + episodes` of the training seeds."""
    seeds, record = episode_seeds(TRAINING_SEED_OFFSET + seed, first + episodes)[first:], Trajectories()
    table = run_episodes(
        environment, policy, seeds, max_steps=steps, block=EPISODES_AT_ONCE, timed_decisions=0, record=record
    )
    errors = [message for message in table["error"] if message]
    if errors:
        raise BadInput(f"{len(errors)} of {episodes} episodes failed during data collection: {errors[0]}")
    return record.arrays(environment, table)


def list_transitions(environment: Environment) -> Dataset:
    """Every action in every state of an environment that can list its states. Nothing is held out."""
    listing, space = environment, environment.spec.actions
    if not implements(listing, Enumerable) or not isinstance(space, Finite):
        raise BadInput(f"the states of {environment.spec.name} cannot be listed: collect them with a policy")
    states = listing.every_state()
    index = np.tile(np.arange(space.count), len(states))[:, None]
    states, values = np.repeat(states, space.count, axis=0), space.as_values(index)
    after = environment.step(states, values)
    rewards = environment.quantities(states, values, after).get("reward")
    observations, next_observations = environment.observe(states), environment.observe(after)
    return Dataset(Transitions(observations, values, next_observations, np.arange(len(states)), rewards), None)


def has_reward(environment: Environment) -> bool:
    """Whether the quantities of an environment contain a reward."""
    states, idle = environment.reset(np.zeros(1, np.int64)), environment.spec.actions.idle(1)
    return "reward" in environment.quantities(states, idle, environment.step(states, idle))
