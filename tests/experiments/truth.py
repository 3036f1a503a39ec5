"""The maze itself, as a model."""

import wmel
from wmel.models.oracle import Oracle

model = Oracle(wmel.environment("maze_toy"))
