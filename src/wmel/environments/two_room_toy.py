"""two_room_toy: two rooms joined by one door, shortest path 11 steps."""

from wmel.contract.environment import MaxSteps
from wmel.environments.grid_world import GridWorld
from wmel.environments.layout import Drawing, Layout

DRAWING = """
....#....
....#...G
....#....
....D....
....#....
.S..#....
....#....
"""


def two_room_toy(layout: Drawing = DRAWING, max_steps: MaxSteps = 60) -> GridWorld:
    """The two rooms, or a drawing of your own; `D` marks the door the greedy policy heads for."""
    return GridWorld("two_room_toy", Layout.parse(layout), max_steps)
