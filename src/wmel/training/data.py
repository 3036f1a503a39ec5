"""Transitions to learn from: collected by a policy, split, and cut into windows."""

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
from wmel.kinds import implements

TRAINING = 10_000  # training episodes of a seed are those of this many seeds further on: the published formula
EPISODES_AT_ONCE = 64
MOST_ROUNDS = 1000


@dataclass(frozen=True, eq=False)
class Transitions:
    """T transitions, episode after episode, in the order they happened."""

    observations: np.ndarray  # [T,O]
    actions: np.ndarray  # [T,A] values, as the simulator got them
    next_observations: np.ndarray  # [T,O]
    episodes: np.ndarray  # [T] which episode, from 0 on
    rewards: np.ndarray | None = None  # [T] of each step; None: the environment gives none

    def __post_init__(self):
        lengths = {len(column) for column in self.columns.values()}
        if len(lengths) != 1 or 0 in lengths:
            raise BadInput(f"transitions need arrays of one length and at least one row, got {sorted(lengths)}")
        for name in ("observations", "actions", "next_observations"):
            if not np.isfinite(getattr(self, name)).all():
                raise BadInput(f"transitions must be finite, and their {name} hold NaN or infinity")

    def __len__(self) -> int:
        return len(self.episodes)

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray]) -> "Transitions":
        """From recorded trajectories, padded with NaN beyond each episode's last step."""
        taken = np.arange(arrays["actions"].shape[1]) < arrays["steps"][:, None]
        episodes = np.broadcast_to(np.arange(len(taken))[:, None], taken.shape)[taken]
        observations, actions, after = (
            arrays[name][taken] for name in ("observations", "actions", "next_observations")
        )
        return cls(observations, actions, after, episodes, arrays["rewards"][taken] if "rewards" in arrays else None)

    @classmethod
    def joined(cls, parts: list["Transitions"]) -> "Transitions":
        """Of several, one after the other."""
        return cls(**{name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns})

    def first(self, count: int) -> "Transitions":
        """The first so many."""
        return self.rows(np.arange(count))

    def rows(self, index: np.ndarray) -> "Transitions":
        """Some of them."""
        return Transitions(**{name: column[index] for name, column in self.columns.items()})

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """What there is of each transition, by name."""
        return {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) is not None}

    @cached_property
    def sha256(self) -> str:
        """Of the numbers as float32, which is what a model is fitted to."""
        digest = hashlib.sha256()
        for array in (self.observations, self.actions, self.next_observations):
            digest.update(np.ascontiguousarray(array, np.float32).tobytes())
        return digest.hexdigest()


def network_input(space: Space, values: np.ndarray) -> np.ndarray:
    """Action values [...,A] as a network takes them: finite ones as one-hot [...,count], float32."""
    if not isinstance(space, Finite):
        return values.astype(np.float32)
    index = values[..., 0].astype(np.int64)
    if space.values is not None:
        index = np.abs(values[..., None, :] - space.values).sum(axis=-1).argmin(axis=-1)
    return np.eye(space.count, dtype=np.float32)[index]


def windows_of(episodes: np.ndarray, longest: int) -> np.ndarray:
    """Which transitions [W,K] each window holds, of the episode of each transition [T] in the order they happened.

    Every complete window of `longest` steps, overlapping; of the longest episode's steps where that is shorter.
    """
    _, steps = np.unique(episodes, return_counts=True)
    length = min(longest, int(steps.max()))
    starts = np.flatnonzero(episodes[: len(episodes) - length + 1] == episodes[length - 1 :])
    return starts[:, None] + np.arange(length)


@dataclass(frozen=True, eq=False)
class Collected:
    """Transitions to fit, others of whole episodes that were held out, and the trajectories of those."""

    training: Transitions
    held_out: dict[str, np.ndarray] | None  # as recorded; None: there is nothing else

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
) -> Collected:
    """So many transitions of a policy, in episodes that stop at success as the documents' do.

    A tenth as many episodes are played besides and held out. `progress` is told how many transitions have come.
    """
    require_whole(transitions, "the number of transitions", at_least=2)
    require_whole(episode_steps, "the steps of an episode")
    parts: list[Transitions] = []
    missing, used = transitions, 0
    while missing > 0 and len(parts) < MOST_ROUNDS:
        episodes = min(EPISODES_AT_ONCE, -(-missing // episode_steps))
        arrays = _played(environment, policy, seed, used, episodes, episode_steps)
        part = Transitions.of(arrays)
        parts.append(replace(part, episodes=part.episodes + used))
        used += episodes
        progress(min(len(part), missing))
        missing -= len(part)
    if missing > 0:
        raise BadInput(f"{used} episodes gave no more than {transitions - missing} transitions; they end too early")
    held_out = _played(environment, policy, seed, used, max(1, used // 10), episode_steps)
    return Collected(Transitions.joined(parts).first(transitions), held_out)


def _played(
    environment: Environment, policy: Policy, seed: int, first: int, episodes: int, steps: int
) -> dict[str, np.ndarray]:
    """Recorded episodes `first` to `first + episodes` of the training seeds."""
    seeds, record = episode_seeds(TRAINING + seed, first + episodes)[first:], Trajectories()
    table = run_episodes(
        environment, policy, seeds, max_steps=steps, block=EPISODES_AT_ONCE, timed_decisions=0, record=record
    )
    broken = [message for message in table["error"] if message]
    if broken:
        raise BadInput(f"{len(broken)} of {episodes} episodes broke while data were collected: {broken[0]}")
    return record.arrays(environment, table)


def every_transition(environment: Environment) -> Collected:
    """Each action in each state, of an environment that can list them; nothing is left to be held out but these."""
    listing, space = environment, environment.spec.actions
    if not implements(listing, Enumerable) or not isinstance(space, Finite):
        raise BadInput(f"the states of {environment.spec.name} cannot be listed: collect them with a policy")
    states = listing.every_state()
    index = np.tile(np.arange(space.count), len(states))[:, None]
    states, values = np.repeat(states, space.count, axis=0), space.as_values(index)
    after = environment.step(states, values)
    rewards = environment.quantities(states, values, after).get("reward")
    seen, seen_after = environment.observe(states), environment.observe(after)
    return Collected(Transitions(seen, values, seen_after, np.arange(len(states)), rewards), None)


def gives_reward(environment: Environment) -> bool:
    """Whether the steps of an environment are rewarded."""
    states, idle = environment.reset(np.zeros(1, np.int64)), environment.spec.actions.idle(1)
    return "reward" in environment.quantities(states, idle, environment.step(states, idle))
