"""serial: one job after the other, in this process."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass

from wmel.experiments.executors.outcome import Failure, Job, Result, attempted


@dataclass(frozen=True)
class Serial:
    """One job after the other."""

    @property
    def workers(self) -> int:
        return 1

    def __call__(
        self, work: Callable[[Job], Result], jobs: Iterable[Job]
    ) -> Generator[tuple[Job, Result | Failure], None, None]:
        """Each job with its outcome, as it is done."""
        for job in jobs:
            yield job, attempted(work, job)
