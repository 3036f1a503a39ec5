"""Executors: jobs one after the other, or shared out over processes."""

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any, TypeVar

from wmel.errors import WmelError, described
from wmel.parts import check_settings, refuse_unknown_settings, setting

Job = TypeVar("Job")
Result = TypeVar("Result")
SECONDS_BETWEEN_LOOKS = 0.5
STARTS = 3  # tries to start a pool of workers
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
        return Failure(described(error))


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
    """Jobs are shared out over processes, each on one thread."""

    workers: int | None = setting(None, "processes; none: as many as there are cores", at_least=1)

    def __post_init__(self):
        check_settings(self)
        if self.workers is None:
            object.__setattr__(self, "workers", len(os.sched_getaffinity(0)))

    def __call__(
        self, work: Callable[[Job], Result], jobs: Iterable[Job]
    ) -> Generator[tuple[Job, Result | Failure], None, None]:
        """Each job with its outcome, in the order they are done.

        When a worker dies, all jobs in hand are tried again, one at a time: one that kills its worker alone is to
        blame, and is recorded as failed.
        """
        assert self.workers is not None
        waiting, suspects = deque(jobs), deque()
        while waiting or suspects:
            alone = bool(suspects)
            queue = deque([suspects.popleft()]) if alone else waiting
            with closing(_until_broken(work, queue, 1 if alone else self.workers)) as outcomes:
                for job, outcome in outcomes:
                    if outcome is not None:
                        yield job, outcome
                    elif alone:
                        yield job, Failure("its worker died, twice: out of memory, or killed")
                    else:
                        suspects.append(job)


def _until_broken(
    work: Callable[[Job], Result], queue: deque[Job], workers: int
) -> Generator[tuple[Job, Result | Failure | None], None, None]:
    """Jobs taken from a queue and their outcomes; None for those in hand when a worker died, which ends it."""
    pool, running = _pool(workers), {}
    try:
        while queue or running:
            try:
                while queue and len(running) < workers:
                    running[pool.submit(partial(attempted, work), queue[0])] = queue[0]
                    queue.popleft()
            except BrokenProcessPool:  # a worker died while nobody waited; those in hand are told by their futures
                if not running:
                    pool = _pool(workers)
                    continue
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                job, outcome = running.pop(future), _outcome(future)
                yield job, outcome
                if outcome is None:
                    yield from ((other, None) for other in running.values())
                    return
    finally:
        _stop(pool)


def _outcome(future: Future[Any]) -> Any:
    try:
        return future.result()
    except BrokenProcessPool:
        return None
    except Exception as error:
        return Failure(f"what it returned could not be handed over: {error}")


def _pool(workers: int) -> ProcessPoolExecutor:
    kept = {name: os.environ.get(name) for name in THREADS_OF_A_WORKER}
    os.environ.update(THREADS_OF_A_WORKER)
    try:
        for _ in range(STARTS - 1):
            try:
                return _started_pool(workers)
            except BrokenProcessPool:
                continue  # a worker died while it started
        return _started_pool(workers)
    finally:
        for name, value in kept.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _started_pool(workers: int) -> ProcessPoolExecutor:
    context = get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(os.getpid(), sys.path))
    try:
        for future in [pool.submit(os.getpid) for _ in range(workers)]:  # have all started while the threads are set
            future.result()
    except BaseException:
        _stop(pool)
        raise
    return pool


def _begin(parent: int, path: list[str]) -> None:
    """A worker leaves Ctrl-C to its parent, and ends when that has gone."""
    sys.path[:] = path
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _stop(pool: ProcessPoolExecutor) -> None:
    """End its workers now, whatever they are doing."""
    for process in list((pool._processes or {}).values()):
        process.kill()  # a stopped one would not notice a request to end
    pool.shutdown(cancel_futures=True)  # waits: a pool that is still closing when Python ends prints a traceback
