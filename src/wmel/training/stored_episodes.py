"""Stored episodes of a training, one file per round, for other models and for resuming."""

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from wmel.errors import BadInput, CannotWrite, require_whole
from wmel.files import read_json, write_atomically
from wmel.training.data import Dataset, Transitions

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
        except OSError as error:
            raise CannotWrite(f"cannot write the episodes {self.path}: {error.strerror or error}") from error
        write_atomically(self.path / DESCRIPTION, json.dumps(described, indent=1) + "\n")

    def add(self, place: int, observations: np.ndarray, actions: np.ndarray, rewards: np.ndarray) -> None:
        """Writes a round: observations [L+1,E,O], actions in [-1, 1] [L,E,A], rewards [L,E]."""
        parts: list[np.ndarray] = [np.ascontiguousarray(part) for part in (observations, actions, rewards)]
        arrays = {str(name): part for name, part in zip(PARTS, parts, strict=True)}
        write_atomically(self.path / ROUND.format(place), save(arrays))

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
            described = read_json(path)
        except BadInput as error:
            raise BadInput(f"{self.path} contains no episodes: {error}") from error
        try:
            bounds, names = np.array(described["actions"]["bounds"], float), described["observation"]
            if bounds.ndim != 2 or len(bounds) != 2 or not np.isfinite(bounds).all() or (bounds[0] >= bounds[1]).any():
                raise ValueError("bounds")
            if not isinstance(names, list) or not isinstance(described["environment"], str):
                raise ValueError("names")
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{path} does not describe the environment of episodes") from error
        return described
