"""Episodes on disk, a file per round: what a training played, kept for other models and to go on from."""

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from wmel.errors import BadInput, CannotWrite, require_whole
from wmel.files import replace_atomically
from wmel.training.data import Collected, Transitions

DESCRIPTION, ROUND = "episodes.json", "round-{:05d}.safetensors"
PARTS = ("observations", "actions", "rewards")


@dataclass(frozen=True, eq=False)
class Episodes:
    """Whole episodes of one length, and what they were played in."""

    observations: np.ndarray  # [E,L+1,O]
    actions: np.ndarray  # [E,L,A] from -1 to 1, the ends of their range
    rewards: np.ndarray  # [E,L]
    described: dict[str, Any]  # as the card of a checkpoint says it of the environment
    sha256: str

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The range of the actions: [A], [A]"""
        low, high = self.described["actions"]["bounds"]
        return np.array(low, np.float32), np.array(high, np.float32)

    @property
    def own_actions(self) -> np.ndarray:
        """[E,L,A] in their own units."""
        low, high = self.bounds
        return (low + (self.actions + 1) / 2 * (high - low)).clip(low, high)

    def collected(self, transitions: int, seed: int) -> Collected:
        """So many transitions of episodes drawn at random, and a tenth as many episodes beside them held out."""
        require_whole(transitions, "the number of transitions")
        count, length = self.rewards.shape
        wanted = -(-transitions // length)
        apart = max(1, wanted // 10)
        if wanted + apart > count:
            raise BadInput(
                f"{transitions} transitions are {wanted} episodes and {apart} held out; the stored data have {count}"
            )
        order = np.random.default_rng(seed).permutation(count)
        training = Transitions.of(self._recorded(order[:wanted])).first(transitions)
        return Collected(training, self._recorded(order[wanted : wanted + apart]))

    def _recorded(self, which: np.ndarray) -> dict[str, np.ndarray]:
        """As a recording of the closed loop has them."""
        seen, length = self.observations[which], self.rewards.shape[1]
        return {
            "observations": seen[:, :-1],
            "actions": self.own_actions[which],
            "next_observations": seen[:, 1:],
            "rewards": self.rewards[which],
            "steps": np.full(len(which), length),
        }


@dataclass(frozen=True)
class EpisodesFolder:
    """A folder of episodes."""

    path: Path

    def begin(self, described: dict[str, Any]) -> None:
        """Say what is going to be played; rounds of another training are removed."""
        try:
            for old in self._files():
                old.unlink()
            text = json.dumps(described, indent=1) + "\n"
            replace_atomically(self.path / DESCRIPTION, lambda path: path.write_text(text, encoding="utf-8"))
        except OSError as error:
            raise CannotWrite(f"cannot write the episodes {self.path}: {error.strerror or error}") from error

    def add(self, place: int, observations: np.ndarray, actions: np.ndarray, rewards: np.ndarray) -> None:
        """One round: observations [L+1,E,O], actions from -1 to 1 [L,E,A], rewards [L,E]."""
        parts: list[np.ndarray] = [np.ascontiguousarray(part) for part in (observations, actions, rewards)]
        arrays = {str(name): part for name, part in zip(PARTS, parts, strict=True)}
        try:
            replace_atomically(self.path / ROUND.format(place), lambda path: path.write_bytes(save(arrays)))
        except OSError as error:
            raise CannotWrite(f"cannot write the episodes {self.path}: {error.strerror or error}") from error

    def round(self, place: int) -> tuple[np.ndarray, ...]:
        """What was added."""
        path = self.path / ROUND.format(place)
        try:
            arrays = load_file(path)
            return tuple(arrays[name] for name in PARTS)
        except (OSError, SafetensorError, KeyError) as error:
            why = " ".join(str(error).split())
            raise BadInput(
                f"cannot read the episodes {path}: {why}; put it back, or train into another folder"
            ) from error

    def read(self) -> Episodes:
        """Every round that is there."""
        described, files = self.description(), self._files()
        for file in files:
            if not file.stem.removeprefix("round-").isdecimal():
                raise BadInput(f"{file} is no round of episodes by its name: move it away")
        rounds = [self.round(int(file.stem.removeprefix("round-"))) for file in files]
        for file, parts in zip(files, rounds, strict=True):
            for name, part in zip(PARTS, parts, strict=True):
                if not np.isfinite(part).all():
                    raise BadInput(f"{file} is broken: its {name} hold NaN or infinity; remove it, or play anew")
        if [part.ndim for part in rounds[0]] != [3, 3, 2] or 0 in rounds[0][2].shape:
            raise BadInput(f"the rounds of {self.path} are no episodes: {[part.shape for part in rounds[0]]}")
        if len({tuple(part.shape for part in one) for one in rounds}) > 1:
            raise BadInput(f"the rounds of {self.path} are of different shapes")
        observations, actions, rewards = (
            np.concatenate(part, axis=1).swapaxes(0, 1) for part in zip(*rounds, strict=True)
        )
        widths = len(described["observation"]), len(described["actions"]["bounds"][0])
        shapes = (len(rewards), rewards.shape[1] + 1, widths[0]), (*rewards.shape, widths[1])
        if (observations.shape, actions.shape) != shapes:
            raise BadInput(f"the episodes of {self.path} are not what {DESCRIPTION} says: {observations.shape}")
        if np.abs(actions).max() > 1:
            raise BadInput(f"the episodes of {self.path} are broken: actions lie beyond -1 and 1, their ends")
        digest = sha256(b"".join(sha256(file.read_bytes()).digest() for file in files)).hexdigest()
        return Episodes(observations, actions, rewards, described, digest)

    def description(self) -> dict[str, Any]:
        """What the episodes were played in; a folder without any is refused, and none is read."""
        described = self._described()
        if not self._files():
            raise BadInput(f"{self.path} has no finished round of episodes")
        return described

    def _files(self) -> list[Path]:
        return sorted(self.path.glob("round-*.safetensors"))

    def _described(self) -> dict[str, Any]:
        path = self.path / DESCRIPTION
        try:
            described = json.loads(path.read_text(encoding="utf-8"))
            bounds, names = np.array(described["actions"]["bounds"], float), described["observation"]
            if bounds.ndim != 2 or len(bounds) != 2 or not np.isfinite(bounds).all() or (bounds[0] >= bounds[1]).any():
                raise ValueError("bounds")
            if not isinstance(names, list) or not isinstance(described["environment"], str):
                raise ValueError("names")
        except OSError as error:
            raise BadInput(f"{self.path} holds no episodes: cannot read {DESCRIPTION}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{path} does not describe what episodes were played in") from error
        return described
