"""One job after the other, in this process."""

from collections.abc import Callable, Generator, Iterable

from wmel.study.executors.outcome import Failure, Job, Result, attempted


def serial(work: Callable[[Job], Result], jobs: Iterable[Job]) -> Generator[tuple[Job, Result | Failure], None, None]:
    """Each job with what became of it, as it is done."""
    for job in jobs:
        yield job, attempted(work, job)
