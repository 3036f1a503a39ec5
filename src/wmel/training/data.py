"""Datasets of transitions, collected, listed or stored by a training, with held-out episodes and their windows."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from wmel.closed_loop.run import episode_seeds, run_episodes
from wmel.closed_loop.trajectories import Trajectories
from wmel.contract.environment import Enumerable, Environment, Finite, Space
from wmel.contract.policy import Policy
from wmel.errors import BadInput, CannotWrite, require_whole
from wmel.files import replace_atomically
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


DESCRIPTION, ROUND = "episodes.json", "round-{:05d}.safetensors"
PARTS = ("observations", "actions", "rewards")


@dataclass(frozen=True, eq=False)
class Episodes:
    """Complete episodes of equal length, and the description of their environment."""

    observations: np.ndarray  # [E,L+1,O]
    actions: np.ndarray  # [E,L,A] scaled to [-1, 1]
    rewards: np.ndarray  # [E,L]
    described: dict[str, Any]  # the environment, as in the card of a checkpoint
    sha256: str

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of the actions: [A], [A]"""
        low, high = self.described["actions"]["bounds"]
        return np.array(low, np.float32), np.array(high, np.float32)

    @property
    def unscaled_actions(self) -> np.ndarray:
        """Actions [E,L,A] in the units of the environment."""
        low, high = self.bounds
        return (low + (self.actions + 1) / 2 * (high - low)).clip(low, high)

    def sample_dataset(self, transitions: int, seed: int) -> Dataset:
        """Transitions of randomly sampled episodes. A tenth as many further episodes are held out."""
        require_whole(transitions, "the number of transitions")
        count, length = self.rewards.shape
        fitted = -(-transitions // length)
        held_out = max(1, fitted // 10)
        if fitted + held_out > count:
            raise BadInput(
                f"{transitions} transitions require {fitted} episodes and {held_out} held out; the stored data have "
                f"{count}"
            )
        order = np.random.default_rng(seed).permutation(count)
        training = Transitions.of(self._as_trajectories(order[:fitted])).first(transitions)
        return Dataset(training, self._as_trajectories(order[fitted : fitted + held_out]))

    def _as_trajectories(self, episodes: np.ndarray) -> dict[str, np.ndarray]:
        """Some episodes in the format of recorded trajectories."""
        observations, length = self.observations[episodes], self.rewards.shape[1]
        return {
            "observations": observations[:, :-1],
            "actions": self.unscaled_actions[episodes],
            "next_observations": observations[:, 1:],
            "rewards": self.rewards[episodes],
            "steps": np.full(len(episodes), length),
        }


@dataclass(frozen=True)
class EpisodesFolder:
    """A folder of stored episodes."""

    path: Path

    def begin(self, described: dict[str, Any]) -> None:
        """Writes the description of the environment, and removes the rounds of an earlier training."""
        try:
            for old in self._files():
                old.unlink()
            text = json.dumps(described, indent=1) + "\n"
            replace_atomically(self.path / DESCRIPTION, lambda path: path.write_text(text, encoding="utf-8"))
        except OSError as error:
            raise CannotWrite(f"cannot write the episodes {self.path}: {error.strerror or error}") from error

    def add(self, place: int, observations: np.ndarray, actions: np.ndarray, rewards: np.ndarray) -> None:
        """Writes a round: observations [L+1,E,O], actions in [-1, 1] [L,E,A], rewards [L,E]."""
        parts: list[np.ndarray] = [np.ascontiguousarray(part) for part in (observations, actions, rewards)]
        arrays = {str(name): part for name, part in zip(PARTS, parts, strict=True)}
        try:
            replace_atomically(self.path / ROUND.format(place), lambda path: path.write_bytes(save(arrays)))
        except OSError as error:
            raise CannotWrite(f"cannot write the episodes {self.path}: {error.strerror or error}") from error

    def round(self, place: int) -> tuple[np.ndarray, ...]:
        """Reads a round: observations, actions and rewards."""
        path = self.path / ROUND.format(place)
        try:
            arrays = load_file(path)
            return tuple(arrays[name] for name in PARTS)
        except (OSError, SafetensorError, KeyError) as error:
            reason = " ".join(str(error).split())
            raise BadInput(
                f"cannot read the episodes {path}: {reason}; restore the file, or train into another folder"
            ) from error

    def read(self) -> Episodes:
        """Reads all rounds. Raises BadInput for a damaged round."""
        described, files = self.description(), self._files()
        for file in files:
            if not file.stem.removeprefix("round-").isdecimal():
                raise BadInput(f"{file} does not have the name of a round of episodes: move it away")
        rounds = [self.round(int(file.stem.removeprefix("round-"))) for file in files]
        for file, parts in zip(files, rounds, strict=True):
            for name, part in zip(PARTS, parts, strict=True):
                if not np.isfinite(part).all():
                    raise BadInput(f"{file} is damaged: its {name} contain NaN or infinity; remove it, or train again")
        if [part.ndim for part in rounds[0]] != [3, 3, 2] or 0 in rounds[0][2].shape:
            raise BadInput(f"the rounds of {self.path} are not episodes: {[part.shape for part in rounds[0]]}")
        if len({tuple(part.shape for part in one) for one in rounds}) > 1:
            raise BadInput(f"the rounds of {self.path} have different shapes")
        observations, actions, rewards = (
            np.concatenate(part, axis=1).swapaxes(0, 1) for part in zip(*rounds, strict=True)
        )
        widths = len(described["observation"]), len(described["actions"]["bounds"][0])
        shapes = (len(rewards), rewards.shape[1] + 1, widths[0]), (*rewards.shape, widths[1])
        if (observations.shape, actions.shape) != shapes:
            raise BadInput(f"the episodes of {self.path} do not match {DESCRIPTION}: {observations.shape}")
        if np.abs(actions).max() > 1:
            raise BadInput(f"the episodes of {self.path} are damaged: actions lie outside [-1, 1]")
        digest = sha256(b"".join(sha256(file.read_bytes()).digest() for file in files)).hexdigest()
        return Episodes(observations, actions, rewards, described, digest)

    def description(self) -> dict[str, Any]:
        """The description of the environment. Raises BadInput for a folder without episodes. Reads no episode."""
        described = self._read_description()
        if not self._files():
            raise BadInput(f"{self.path} has no finished round of episodes")
        return described

    def _files(self) -> list[Path]:
        return sorted(self.path.glob("round-*.safetensors"))

    def _read_description(self) -> dict[str, Any]:
        path = self.path / DESCRIPTION
        try:
            described = json.loads(path.read_text(encoding="utf-8"))
            bounds, names = np.array(described["actions"]["bounds"], float), described["observation"]
            if bounds.ndim != 2 or len(bounds) != 2 or not np.isfinite(bounds).all() or (bounds[0] >= bounds[1]).any():
                raise ValueError("bounds")
            if not isinstance(names, list) or not isinstance(described["environment"], str):
                raise ValueError("names")
        except OSError as error:
            raise BadInput(f"{self.path} contains no episodes: cannot read {DESCRIPTION}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{path} does not describe the environment of episodes") from error
        return described
