"""A part of every kind of input, for the slow tests."""

from random import Random

from tests.attack import checkpoints, command_lines, hostile, records, stores, studies
from tests.attack.cases import Case
from tests.attack.fixtures import Fixtures

NAME = "a part of each"
PROMISE = "those of all kinds of inputs"
MODULES = (command_lines, studies, records, stores, checkpoints, hostile)


def case(number: int, rng: Random, fixtures: Fixtures) -> Case:
    """The kinds in turn; a third of the cases is of the corpus."""
    module = MODULES[number % len(MODULES)]
    return module.case(rng.randrange(3 * len(module.CORPUS)), rng, fixtures)
