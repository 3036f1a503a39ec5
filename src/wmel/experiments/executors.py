"""Executors: jobs one after the other, or shared out over processes."""

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any, TypeVar

from wmel.errors import WmelError, describe_error
from wmel.parts import check_settings, refuse_unknown_settings, setting

Job = TypeVar("Job")
Result = TypeVar("Result")
SECONDS_BETWEEN_LOOKS = 0.5
STARTS = 3  # tries to start a worker
TRIES = 2  # of a job whose worker dies
TRIED_AGAIN = object()  # in place of an outcome, which may be None
THREADS_OF_A_WORKER: dict[str, str] = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


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
        return Failure(describe_error(error))


@refuse_unknown_settings
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


@refuse_unknown_settings
@dataclass(frozen=True)
class Processes:
    """Jobs are shared out over processes, each on one thread.

    A process that dies costs no other job than its own, which is tried once more on a fresh one.
    """

    workers: int | None = setting(None, "processes; none: as many as there are cores", at_least=1)

    def __post_init__(self):
        check_settings(self)
        if self.workers is None:
            object.__setattr__(self, "workers", len(os.sched_getaffinity(0)))

    def __call__(
        self, work: Callable[[Job], Result], jobs: Iterable[Job]
    ) -> Generator[tuple[Job, Result | Failure], None, None]:
        """Each job with its outcome, in the order they are done."""
        assert self.workers is not None
        queue = deque(jobs)
        workers = [_Worker(partial(attempted, work)) for _ in range(min(self.workers, len(queue)))]
        try:
            for worker in workers:
                worker.take(queue.popleft())
            while busy := {worker.future: worker for worker in workers if worker.future is not None}:
                for future in wait(busy, return_when=FIRST_COMPLETED).done:
                    worker = busy[future]
                    job, outcome = worker.job, worker.outcome()
                    if outcome is TRIED_AGAIN:
                        continue
                    if queue:
                        worker.take(queue.popleft())
                    else:
                        worker.future = None
                    yield job, outcome
        finally:
            _stop([worker.pool for worker in workers if worker.pool is not None])


@dataclass(eq=False)
class _Worker:
    """One process and the job it has; a process that dies is replaced."""

    work: Callable[[Any], Any]
    pool: ProcessPoolExecutor | None = None  # of this process alone, so that its death breaks nothing else
    begun: Future[Any] | None = None  # whether the process has started
    future: Future[Any] | None = None  # of the job; None while there is none
    job: Any = None
    deaths: int = 0  # of processes that had this job
    failed_starts: int = 0

    def take(self, job: Any) -> None:
        self.job, self.deaths = job, 0
        self._hand_over()

    def outcome(self) -> Any:
        """The result of the job or a `Failure`; `TRIED_AGAIN` where the process died and the job has another."""
        assert self.future is not None
        try:
            return self.future.result()
        except BrokenProcessPool:
            self.deaths += self._bury()
        except Exception as error:
            return Failure(f"it could not be handed to its worker, or its result back: {describe_error(error)}")
        if self.deaths == TRIES:
            return Failure("its worker died, twice: out of memory, or killed")
        self._hand_over()
        return TRIED_AGAIN

    def _hand_over(self) -> None:
        if self.pool is None:
            self._start()
        assert self.pool is not None
        try:
            self.future = self.pool.submit(self.work, self.job)
        except BrokenProcessPool:  # it died while it had nothing to do, for which the job is not to blame
            self._bury()
            self._hand_over()

    def _start(self) -> None:
        """Start the process; nobody waits for it."""
        begin = {"initializer": _begin, "initargs": (os.getpid(), sys.path)}
        self.pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), **begin)
        with _threads_of_a_worker():
            self.begun = self.pool.submit(os.getpid)
        writer = self.pool._result_queue._writer  # pyright: ignore[reportAttributeAccessIssue]
        writer.close()  # the process has its own: with that gone, a result half sent is not waited for

    def _bury(self) -> bool:
        """Remove a process that died; returns whether it had started."""
        assert self.pool is not None and self.begun is not None
        had_begun = self.begun.exception() is None
        _stop([self.pool])
        self.pool, self.failed_starts = None, 0 if had_begun else self.failed_starts + 1
        if self.failed_starts == STARTS:
            raise WmelError(
                f"a worker died {STARTS} times while it started: see its own message above; a script that uses "
                'processes runs them under if __name__ == "__main__"'
            )
        return had_begun


@contextmanager
def _threads_of_a_worker() -> Iterator[None]:
    """The environment that a process inherits while it is started."""
    kept = {name: os.environ.get(name) for name in THREADS_OF_A_WORKER}
    os.environ.update(THREADS_OF_A_WORKER)
    try:
        yield
    finally:
        for name, value in kept.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _begin(parent: int, path: list[str]) -> None:
    """A worker leaves Ctrl-C to its parent, and ends when that has gone."""
    sys.path[:] = path
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _stop(pools: list[ProcessPoolExecutor]) -> None:
    """End their processes now, whatever they are doing."""
    for pool in pools:
        for process in list((pool._processes or {}).values()):
            process.kill()  # a stopped one would not notice a request to end
    for pool in pools:
        pool.shutdown(cancel_futures=True)  # waits: a pool that is still closing when Python ends prints a traceback
