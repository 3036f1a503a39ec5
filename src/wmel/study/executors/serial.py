"""One job after the other, in this process."""

from collections.abc import Callable, Iterable, Iterator

from wmel.study.executors.outcome import Failure, Job, Result, attempted


def serial(work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[tuple[Job, Result | Failure]]:
    """Each job with what became of it, as it is done."""
    for job in jobs:
        yield job, attempted(work, job)
