"""Grid worlds that step by a table: walk up, down, left or right until the goal is reached."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from wmel.arrays import lookup
from wmel.contract.criterion import Criterion
from wmel.contract.environment import EnvironmentSpec
from wmel.contract.spaces import Finite
from wmel.environments.grid_tables import MOVES, GridTables, grid_tables
from wmel.environments.layout import Layout
from wmel.errors import require_whole
from wmel.randomness import Streams


@dataclass(frozen=True)
class GridWorld:
    """The state is where the agent is and how it got there; walls and the edge of the grid block a move."""

    name: str
    layout: Layout
    max_steps: int

    def __post_init__(self):
        require_whole(self.max_steps, "max_steps")

    @cached_property
    def spec(self) -> EnvironmentSpec:
        moves, drawn = Finite(tuple(MOVES)), str(self.layout)
        return EnvironmentSpec(self.name, ("x", "y"), moves, self.max_steps, single_start=True, layout=drawn)

    @property
    def settings(self) -> dict[str, Any]:
        """What it was built with."""
        return {"layout": str(self.layout), "max_steps": self.max_steps}

    @property
    def default_criterion(self) -> Criterion:
        return Criterion("distance", at_most=0)

    def every_state(self) -> np.ndarray:
        """The free cells [n,1], with no move remembered."""
        layout = self.layout
        cells = [(x, y) for y in range(layout.height) for x in range(layout.width) if (x, y) not in layout.walls]
        return np.array([[x + layout.width * y] for x, y in cells])

    def reset(self, seeds: np.ndarray) -> np.ndarray:
        return np.full((len(seeds), 1), self._tables.start)

    def step(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return self._tables.after.take(states + self._tables.states * actions, mode="clip")

    def rollout(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """states [M,1], actions [M,H,1] -> states [M,H+1,1], laid out step by step in memory."""
        after = self._tables.after
        offsets = np.multiply(self._tables.states, actions[:, :, 0].T, dtype=states.dtype)
        trajectory = np.empty((len(offsets) + 1, len(states)), states.dtype)
        trajectory[0] = states[:, 0]
        for now, offset in enumerate(offsets):
            after.take(trajectory[now] + offset, out=trajectory[now + 1], mode="clip")
        return trajectory.T[:, :, None]

    def observe(self, states: np.ndarray) -> np.ndarray:
        return lookup(self._tables.coordinates, states[:, 0])

    def recover(self, observations: np.ndarray) -> np.ndarray:
        """The nearest cell of the grid, with no move remembered."""
        x = np.rint(observations[:, 0]).clip(0, self.layout.width - 1)
        y = np.rint(observations[:, 1]).clip(0, self.layout.height - 1)
        return (x + self.layout.width * y).astype(np.int64)[:, None]

    def goals(self, states: np.ndarray) -> np.ndarray:
        return np.repeat(self._goal, len(states), axis=0)

    def quantities(self, states: np.ndarray, actions: np.ndarray, next_states: np.ndarray) -> dict[str, np.ndarray]:
        """`distance`: Manhattan distance left to the goal after the step."""
        return {"distance": self._tables.distances.take(next_states[:, 0])}

    def perturb(self, states: np.ndarray, streams: Streams) -> np.ndarray:
        """Pushed one cell back against the last successful move, where that cell is free."""
        return self._tables.pushed.take(states)

    def displacements(self) -> np.ndarray:
        return np.array(list(MOVES.values()), np.float32)

    def waypoint(self, states: np.ndarray) -> np.ndarray:
        """The door where it lies between the agent and the goal, else the goal."""
        goals = self.goals(states)
        if self.layout.door is None:
            return goals
        door = np.array(self.layout.door, np.float32)
        across = (self.observe(states)[:, 0] < door[0]) != (goals[:, 0] < door[0])
        return np.where(across[:, None], door, goals)

    @cached_property
    def _goal(self) -> np.ndarray:
        """[1,2]"""
        return np.array([self.layout.goal], np.float32)

    @cached_property
    def _tables(self) -> GridTables:
        return grid_tables(self.layout)
