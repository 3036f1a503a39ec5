"""Data to train on: what was seen, done, seen next and earned, and in which episode."""

import hashlib
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from wmel.contract.spaces import Finite, Space
from wmel.errors import BadInput


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
