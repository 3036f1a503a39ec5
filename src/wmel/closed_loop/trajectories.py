"""Trajectories: the recorded actions, states, observations and rewards of episodes."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from wmel.contract.environment import Environment
from wmel.errors import BadInput
from wmel.files import write_atomically
from wmel.schema import EpisodeTable


@dataclass(eq=False)
class Trajectories:
    """Transitions of episodes, in the order of execution."""

    episodes: list[np.ndarray] = field(default_factory=list)  # each [b], rows of the table
    actions: list[np.ndarray] = field(default_factory=list)  # each [b,A], values
    states: list[np.ndarray] = field(default_factory=list)  # each [b,S], before the action
    next_states: list[np.ndarray] = field(default_factory=list)  # each [b,S]

    def add(self, episodes: np.ndarray, actions: np.ndarray, states: np.ndarray, next_states: np.ndarray) -> None:
        """Adds one step of some episodes."""
        self.episodes.append(episodes)
        self.actions.append(actions)
        self.states.append(states)
        self.next_states.append(next_states)

    def arrays(self, environment: Environment, table: EpisodeTable) -> dict[str, np.ndarray]:
        """The arrays of a file of trajectories, for E episodes of at most T steps.

        These are episode_seed [E] and steps [E]; actions, states, next_states, observations and next_observations
        [E,T,...]; and rewards [E,T] if the table has any. Steps after the end of an episode are NaN.
        """
        if not self.episodes:
            raise BadInput("no episode took a step: there is no trajectory to record")
        episode = np.concatenate(self.episodes)
        order = np.argsort(episode, kind="stable")
        steps = np.bincount(episode, minlength=len(table))
        step = np.concatenate([np.arange(count) for count in steps])

        def pad(numbers: np.ndarray) -> np.ndarray:
            padded = np.full((len(table), steps.max(), *numbers.shape[1:]), np.nan)
            padded[episode[order], step] = numbers[order]
            return padded

        states, next_states = np.concatenate(self.states), np.concatenate(self.next_states)
        return {
            "episode_seed": table["episode_seed"],
            "steps": steps,
            "actions": pad(np.concatenate(self.actions)),
            "states": pad(states),
            "next_states": pad(next_states),
            "observations": pad(environment.observe(states)),
            "next_observations": pad(environment.observe(next_states)),
            **({"rewards": _pad_rewards(table, int(steps.max()))} if any(_has_rewards(table)) else {}),
        }


def write_trajectories(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Writes the arrays atomically to an .npz file."""
    write_atomically(path, lambda file: np.savez_compressed(file, **arrays))  # pyright: ignore[reportArgumentType]


def _pad_rewards(table: EpisodeTable, longest: int) -> np.ndarray:
    padded = np.full((len(table), longest), np.nan)
    for row in np.flatnonzero(_has_rewards(table)):
        rewards = table["rewards"][row]
        padded[row, : len(rewards)] = rewards
    return padded


def _has_rewards(table: EpisodeTable) -> list[bool]:
    """Whether each episode has rewards."""
    return [rewards is not None for rewards in table["rewards"]]
