"""What became of a job: its result, or why there is none."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from wmel.errors import WmelError, described

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Failure:
    """A job that could not be done, in words."""

    reason: str


def attempted(work: Callable[[Job], Result], job: Job) -> Result | Failure:
    """The result of a job; one that fails costs nothing but itself."""
    try:
        return work(job)
    except WmelError as error:
        return Failure(" ".join(str(error).split()))
    except Exception as error:
        return Failure(described(error))
