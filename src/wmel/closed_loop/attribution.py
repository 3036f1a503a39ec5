"""Finding the rows that break a batched call, so that only their episodes end."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from wmel.errors import described

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Attributed(Generic[Result]):
    """What a batched call gave for the rows that worked, piece by piece, and what the others said."""

    pieces: list[tuple[np.ndarray, Result]]
    errors: dict[int, str]

    @property
    def rows(self) -> np.ndarray:
        """The rows that worked, in order."""
        return np.concatenate([np.empty(0, np.intp), *(rows for rows, _ in self.pieces)])


def attributed(call: Callable[[np.ndarray], Result], rows: np.ndarray) -> Attributed[Result]:
    """Call on all rows; if that fails, on each half, down to the rows that fail alone."""
    try:
        return Attributed([(rows, call(rows))], {})
    except Exception as error:
        if len(rows) <= 1:
            return Attributed([], {int(row): described(error) for row in rows})
    middle = len(rows) // 2
    first, second = attributed(call, rows[:middle]), attributed(call, rows[middle:])
    return Attributed(first.pieces + second.pieces, first.errors | second.errors)
