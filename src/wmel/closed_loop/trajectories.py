"""Recorded steps of episodes: actions, states, observations and rewards."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from wmel.contract.environment import Environment
from wmel.errors import BadInput, CannotWrite
from wmel.files import replace_atomically
from wmel.schema import EpisodeTable


@dataclass(eq=False)
class Trajectories:
    """What each action met and led to, in the order it happened."""

    episodes: list[np.ndarray] = field(default_factory=list)  # each [b], places in the table
    actions: list[np.ndarray] = field(default_factory=list)  # each [b,A], values
    states: list[np.ndarray] = field(default_factory=list)  # each [b,S], as the action found them
    next_states: list[np.ndarray] = field(default_factory=list)  # each [b,S]

    def add(self, episodes: np.ndarray, actions: np.ndarray, states: np.ndarray, next_states: np.ndarray) -> None:
        """One step of some episodes."""
        self.episodes.append(episodes)
        self.actions.append(actions)
        self.states.append(states)
        self.next_states.append(next_states)

    def arrays(self, environment: Environment, table: EpisodeTable) -> dict[str, np.ndarray]:
        """episode_seed [E], steps [E]; actions, states, next_states, observations, next_observations [E,T,...] and the
        table's rewards [E,T], NaN beyond an episode's last step."""
        if not self.episodes:
            raise BadInput("no episode took a step: there is no trajectory to record")
        episode = np.concatenate(self.episodes)
        order = np.argsort(episode, kind="stable")
        steps = np.bincount(episode, minlength=len(table))
        place = np.concatenate([np.arange(count) for count in steps])

        def padded(numbers: np.ndarray) -> np.ndarray:
            laid = np.full((len(table), steps.max(), *numbers.shape[1:]), np.nan)
            laid[episode[order], place] = numbers[order]
            return laid

        states, next_states = np.concatenate(self.states), np.concatenate(self.next_states)
        return {
            "episode_seed": table["episode_seed"],
            "steps": steps,
            "actions": padded(np.concatenate(self.actions)),
            "states": padded(states),
            "next_states": padded(next_states),
            "observations": padded(environment.observe(states)),
            "next_observations": padded(environment.observe(next_states)),
            **({"rewards": _padded_rewards(table, int(steps.max()))} if any(_earned(table)) else {}),
        }


def write_trajectories(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write the arrays as .npz, whole or not at all."""

    def write(draft: Path) -> None:
        with draft.open("wb") as file:  # given a name, numpy would put .npz behind it
            np.savez_compressed(file, **arrays)  # pyright: ignore[reportArgumentType]

    try:
        replace_atomically(path, write)
    except OSError as error:
        raise CannotWrite(f"cannot write the trajectories {path}: {error.strerror or error}") from error


def _padded_rewards(table: EpisodeTable, longest: int) -> np.ndarray:
    rewards = np.full((len(table), longest), np.nan)
    for row in np.flatnonzero(_earned(table)):
        earned = table["rewards"][row]
        rewards[row, : len(earned)] = earned
    return rewards


def _earned(table: EpisodeTable) -> list[bool]:
    """Which episodes took a step that was rewarded."""
    return [rewards is not None for rewards in table["rewards"]]
