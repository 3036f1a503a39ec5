"""Grid worlds that step by a table: walk up, down, left or right until the goal is reached."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wmel.arrays import lookup
from wmel.contract.criterion import Criterion
from wmel.contract.environment import EnvironmentSpec
from wmel.contract.spaces import Finite
from wmel.environments.layout import Layout
from wmel.errors import require

MOVES = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}


@dataclass(frozen=True)
class GridWorld:
    """The state is the number of a cell; moving into a wall or off the grid leaves the agent where it is."""

    name: str
    layout: Layout
    max_steps: int

    def __post_init__(self):
        require(self.max_steps > 0, "max_steps must be positive", self.max_steps)

    @cached_property
    def spec(self) -> EnvironmentSpec:
        return EnvironmentSpec(self.name, ("x", "y"), Finite(tuple(MOVES)), self.max_steps, single_start=True)

    @property
    def default_criterion(self) -> Criterion:
        return Criterion("distance", at_most=0)

    def reset(self, seeds: np.ndarray) -> np.ndarray:
        return np.full((len(seeds), 1), self._number(self.layout.start))

    def step(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return self._next.take(states + self._cells * actions, mode="clip")

    def rollout(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """states [M,1], actions [M,H,1] -> states [M,H+1,1], laid out step by step in memory."""
        offsets = np.multiply(self._cells, actions[:, :, 0].T, dtype=states.dtype)
        trajectory = np.empty((len(offsets) + 1, len(states)), states.dtype)
        trajectory[0] = states[:, 0]
        for now, offset in enumerate(offsets):
            self._next.take(trajectory[now] + offset, out=trajectory[now + 1], mode="clip")
        return trajectory.T[:, :, None]

    def observe(self, states: np.ndarray) -> np.ndarray:
        return lookup(self._coordinates, states[:, 0])

    def goals(self, states: np.ndarray) -> np.ndarray:
        return np.repeat(self._goal, len(states), axis=0)

    def quantities(self, states: np.ndarray, actions: np.ndarray, next_states: np.ndarray) -> dict[str, np.ndarray]:
        """`distance`: Manhattan distance left to the goal after the step."""
        return {"distance": self._distances.take(next_states[:, 0])}

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

    def _number(self, cell: tuple[int, int]) -> int:
        return cell[0] + self.layout.width * cell[1]

    @property
    def _cells(self) -> int:
        return self.layout.width * self.layout.height

    @cached_property
    def _coordinates(self) -> np.ndarray:
        """[cells,2]: x and y of each cell."""
        numbers = np.arange(self._cells)
        return np.stack([numbers % self.layout.width, numbers // self.layout.width], axis=1).astype(np.float32)

    @cached_property
    def _goal(self) -> np.ndarray:
        """[1,2]"""
        return np.array([self.layout.goal], np.float32)

    @cached_property
    def _distances(self) -> np.ndarray:
        """[cells]: Manhattan distance of each cell to the goal."""
        return np.abs(self._coordinates - self._goal).sum(axis=1)

    @cached_property
    def _next(self) -> np.ndarray:
        """[actions*cells]: the next cell after each action in each cell."""
        table = np.tile(np.arange(self._cells), (len(MOVES), 1))
        for action, (dx, dy) in enumerate(MOVES.values()):
            for cell, (x, y) in enumerate(self._coordinates.astype(int).tolist()):
                if self.layout.is_free((x + dx, y + dy)):
                    table[action, cell] = self._number((x + dx, y + dy))
        return table.ravel()
