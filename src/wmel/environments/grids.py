"""Grid worlds: the maze and the two rooms. A layout is parsed from text and compiled to lookup tables."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from wmel.arrays import lookup
from wmel.contract.criterion import Criterion
from wmel.contract.environment import EnvironmentSpec, Finite, MaxSteps
from wmel.errors import BadLayout, require_whole
from wmel.parts import Meaning
from wmel.randomness import Streams

SYMBOLS = "#.SGD"
Cell = tuple[int, int]
Drawing = Annotated[str, Meaning("the grid as text: # wall, . free, S start, G goal, D door")]
MOVES = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}
MAZE = """
#######
#S#...#
#.#.#.#
#.#.#.#
#...#.#
#.###G#
#######
"""
TWO_ROOMS = """
....#....
....#...G
....#....
....D....
....#....
.S..#....
....#....
"""


@dataclass(frozen=True)
class Layout:
    """A validated drawing. Cells are (x, y), with x to the right, y up, and (0, 0) at the bottom left."""

    width: int
    height: int
    walls: frozenset[Cell]
    start: Cell
    goal: Cell
    door: Cell | None

    @classmethod
    def parse(cls, drawing: str) -> "Layout":
        """Parses a drawing, top row first. Blank lines before and after it are ignored."""
        rows = [line.rstrip() for line in drawing.strip("\n").splitlines()]
        if not any(rows):
            raise BadLayout("a layout requires at least one row, got an empty text")
        for number, row in enumerate(rows, start=1):
            _check_row(number, row, len(rows[0]))
        cells = {
            symbol: [
                (x, len(rows) - 1 - i) for i, row in enumerate(rows) for x, mark in enumerate(row) if mark == symbol
            ]
            for symbol in SYMBOLS
        }
        for symbol, name in (("S", "start"), ("G", "goal")):
            if len(cells[symbol]) != 1:
                raise BadLayout(f"a layout requires exactly one {name} '{symbol}', got {len(cells[symbol])}")
        if len(cells["D"]) > 1:
            raise BadLayout(f"a layout has at most one door 'D', got {len(cells['D'])}")
        return cls(
            width=len(rows[0]),
            height=len(rows),
            walls=frozenset(cells["#"]),
            start=cells["S"][0],
            goal=cells["G"][0],
            door=cells["D"][0] if cells["D"] else None,
        )

    def __str__(self) -> str:
        marks = {self.start: "S", self.goal: "G", self.door: "D"} | dict.fromkeys(self.walls, "#")
        rows = range(self.height - 1, -1, -1)
        return "\n".join("".join(marks.get((x, y), ".") for x in range(self.width)) for y in rows)

    def is_free(self, cell: Cell) -> bool:
        x, y = cell
        return 0 <= x < self.width and 0 <= y < self.height and cell not in self.walls


def _check_row(number: int, row: str, width: int) -> None:
    if len(row) != width:
        raise BadLayout(f"row {number} of the layout has {len(row)} characters, row 1 has {width}: {row!r}")
    for column, mark in enumerate(row, start=1):
        if mark not in SYMBOLS:
            raise BadLayout(
                f"row {number}, character {column} of the layout is {mark!r}; use '#' wall, '.' free, 'S' start, "
                "'G' goal, 'D' door"
            )


@dataclass(frozen=True, eq=False)
class GridTables:
    """Lookup tables by state. A state is the cell and the last move."""

    start: int
    coordinates: np.ndarray  # [states,2]: x and y
    distances: np.ndarray  # [states]: Manhattan distance to the goal
    after: np.ndarray  # [actions*states]: the next state; a blocked move changes nothing
    pushed: np.ndarray  # [states]: the state one cell back, opposite to the last move, if that cell is free

    @property
    def states(self) -> int:
        return len(self.distances)


def grid_tables(layout: Layout) -> GridTables:
    """The tables of a drawing."""
    moves = np.array(list(MOVES.values()))
    cells = layout.width * layout.height
    free = np.array([layout.is_free((cell % layout.width, cell // layout.width)) for cell in range(cells)])
    states = np.arange(cells * (1 + len(moves)))
    cell, last = states % cells, states // cells - 1
    place = np.stack([cell % layout.width, cell // layout.width], axis=1)

    def displace(displacement: np.ndarray, remembered: np.ndarray) -> np.ndarray:
        """The states after a displacement [states,2], with a new last move [states]; unchanged where blocked."""
        x, y = (place + displacement).T
        inside = (x >= 0) & (x < layout.width) & (y >= 0) & (y < layout.height)
        ahead = np.where(inside, x + layout.width * y, cell)
        is_open = inside & free[ahead]
        return np.where(is_open, ahead + cells * (1 + remembered), states)

    after = [displace(np.tile(move, (len(states), 1)), np.full(len(states), a)) for a, move in enumerate(moves)]
    back = np.where(last[:, None] < 0, 0, -moves[last])
    return GridTables(
        start=layout.start[0] + layout.width * layout.start[1],
        coordinates=place.astype(np.float32),
        distances=np.abs(place - np.array(layout.goal)).sum(axis=1).astype(np.float32),
        after=np.concatenate(after),
        pushed=displace(back, last),
    )


@dataclass(frozen=True)
class GridWorld:
    """An agent on a grid. The state is its cell and its last move. Walls and the edge of the grid block a move."""

    name: str
    layout: Layout
    max_steps: int

    def __post_init__(self):
        require_whole(self.max_steps, "max_steps")

    @cached_property
    def spec(self) -> EnvironmentSpec:
        moves, drawing = Finite(tuple(MOVES)), str(self.layout)
        return EnvironmentSpec(self.name, ("x", "y"), moves, self.max_steps, single_start=True, layout=drawing)

    @property
    def settings(self) -> dict[str, Any]:
        """The constructor arguments, for the record."""
        return {"layout": str(self.layout), "max_steps": self.max_steps}

    @property
    def default_criterion(self) -> Criterion:
        return Criterion("distance", at_most=0)

    def every_state(self) -> np.ndarray:
        """The states [n,1] of all free cells, without a last move."""
        layout = self.layout
        cells = [(x, y) for y in range(layout.height) for x in range(layout.width) if (x, y) not in layout.walls]
        return np.array([[x + layout.width * y] for x, y in cells])

    def reset(self, seeds: np.ndarray) -> np.ndarray:
        return np.full((len(seeds), 1), self._tables.start)

    def step(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return self._tables.after.take(states + self._tables.states * actions, mode="clip")

    def rollout(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """states [M,1], actions [M,H,1] -> states [M,H+1,1], with the steps as the slowest axis in memory."""
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
        """The states [B,1] of the closest cells, without a last move."""
        x = np.rint(observations[:, 0]).clip(0, self.layout.width - 1)
        y = np.rint(observations[:, 1]).clip(0, self.layout.height - 1)
        return (x + self.layout.width * y).astype(np.int64)[:, None]

    def goals(self, states: np.ndarray) -> np.ndarray:
        return np.repeat(self._goal, len(states), axis=0)

    def quantities(self, states: np.ndarray, actions: np.ndarray, next_states: np.ndarray) -> dict[str, np.ndarray]:
        """`distance`: the Manhattan distance to the goal after the step."""
        return {"distance": self._tables.distances.take(next_states[:, 0])}

    def perturb(self, states: np.ndarray, streams: Streams) -> np.ndarray:
        """Moves the agent one cell back, opposite to its last successful move, if that cell is free."""
        return self._tables.pushed.take(states)

    def displacements(self) -> np.ndarray:
        return np.array(list(MOVES.values()), np.float32)

    def waypoint(self, states: np.ndarray) -> np.ndarray:
        """The door if it is between the agent and the goal, else the goal."""
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


def maze_toy(layout: Drawing = MAZE, max_steps: MaxSteps = 60) -> GridWorld:
    """The maze, or a maze with another layout."""
    return GridWorld("maze_toy", Layout.parse(layout), max_steps)


def two_room_toy(layout: Drawing = TWO_ROOMS, max_steps: MaxSteps = 60) -> GridWorld:
    """The two rooms, or rooms with another layout. The door `D` is the waypoint of the greedy policy."""
    return GridWorld("two_room_toy", Layout.parse(layout), max_steps)
