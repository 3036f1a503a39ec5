"""An environment: a corridor of five cells."""

from wmel.environments.grid_world import GridWorld
from wmel.environments.layout import Layout


def corridor(layout: str = "S...G", max_steps: int = 20) -> GridWorld:
    """A corridor from left to right."""
    return GridWorld("corridor", Layout.parse(layout), max_steps)
