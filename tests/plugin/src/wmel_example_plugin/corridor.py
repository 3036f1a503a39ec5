"""An environment: a corridor of five cells."""

from wmel.environments.grids import GridWorld, Layout


def corridor(layout: str = "S...G", max_steps: int = 20) -> GridWorld:
    """A corridor from left to right."""
    return GridWorld("corridor", Layout.parse(layout), max_steps)
