"""What several test files need: worlds, percepts and the command line as a user calls it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wmel import catalog
from wmel.contract.policy import Percept

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def maze():
    return catalog.environment("maze_toy")


@pytest.fixture(scope="session")
def two_rooms():
    return catalog.environment("two_room_toy")


@pytest.fixture(scope="session")
def percept_of():
    """States of an environment as a policy that reads them would see them."""

    def percept(environment, states, steps_left=60) -> Percept:
        count, width = len(states), environment.spec.actions.width
        return Percept(
            environment.observe(states),
            environment.goals(states),
            states,
            np.zeros((count, width)),
            np.full(count, steps_left),
        )

    return percept


@pytest.fixture(scope="session")
def wmel_command():
    """`wmel ...` in a process of its own."""

    def call(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from wmel.cli.main import main; main()", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)

    return call
