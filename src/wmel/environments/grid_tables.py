"""What a grid world looks up instead of computing.

A state is one number: the cell the agent is in, plus the number of cells times (1 + its last successful move).
"""

from dataclasses import dataclass

import numpy as np

from wmel.environments.layout import Layout

MOVES = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}


@dataclass(frozen=True, eq=False)
class GridTables:
    """Everything as a function of the state."""

    start: int
    coordinates: np.ndarray  # [states,2]: x and y
    distances: np.ndarray  # [states]: Manhattan distance to the goal
    after: np.ndarray  # [actions*states]: the next state after each action; a blocked move changes nothing
    pushed: np.ndarray  # [states]: one cell back against the last move, where that cell is free

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

    def stepped(displacement: np.ndarray, remembered: np.ndarray) -> np.ndarray:
        """The state one displacement [states,2] away that remembers a move [states], or the same state if blocked."""
        x, y = (place + displacement).T
        inside = (x >= 0) & (x < layout.width) & (y >= 0) & (y < layout.height)
        ahead = np.where(inside, x + layout.width * y, cell)
        open_way = inside & free[ahead]
        return np.where(open_way, ahead + cells * (1 + remembered), states)

    after = [stepped(np.tile(move, (len(states), 1)), np.full(len(states), a)) for a, move in enumerate(moves)]
    back = np.where(last[:, None] < 0, 0, -moves[last])
    return GridTables(
        start=layout.start[0] + layout.width * layout.start[1],
        coordinates=place.astype(np.float32),
        distances=np.abs(place - np.array(layout.goal)).sum(axis=1).astype(np.float32),
        after=np.concatenate(after),
        pushed=stepped(back, last),
    )
