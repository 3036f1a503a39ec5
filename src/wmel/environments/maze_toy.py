"""maze_toy: a 7x7 maze whose shortest path is 14 steps and whose straight way is a dead end."""

from wmel.contract.environment import MaxSteps
from wmel.environments.grid_world import GridWorld
from wmel.environments.layout import Drawing, Layout

DRAWING = """
#######
#S#...#
#.#.#.#
#.#.#.#
#...#.#
#.###G#
#######
"""


def maze_toy(layout: Drawing = DRAWING, max_steps: MaxSteps = 60) -> GridWorld:
    """The maze, or one of your own drawing."""
    return GridWorld("maze_toy", Layout.parse(layout), max_steps)
