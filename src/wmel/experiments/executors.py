"""Executors: they run jobs one after the other, or distribute them over processes."""

import ctypes
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

from wmel.errors import LONGEST_LINE, WmelError, describe_error, locate_error, message_of, printable
from wmel.parts import check_settings, refuse_unknown_settings, setting
from wmel.settings import MAX_THREADS

Job = TypeVar("Job")
Result = TypeVar("Result")
SECONDS_BETWEEN_CHECKS = 0.5  # whether the parent process is alive
SECONDS_TO_EXIT = 1.0  # of a process that can no longer be used
MAX_STARTS = 3  # attempts to start a worker
MAX_ATTEMPTS = 2  # at a job whose worker dies
PR_SET_PDEATHSIG = 1  # of prctl: the signal that a process gets when its parent dies
RETRIED = object()  # in place of an outcome, which may be None
WORKER_THREADS: dict[str, str] = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
SAFE_PATH = {"PYTHONSAFEPATH": "1"}  # a new Python would import files of the current folder in place of its own


@dataclass(frozen=True)
class Failure:
    """Why a job failed."""

    reason: str


KILLED_AT_START = Failure(f"its worker was killed {MAX_STARTS} times while it started")
NOT_STARTED = Failure(
    f"a worker died {MAX_STARTS} times while it started: see its own message above; a script that uses processes must "
    'run them under if __name__ == "__main__"'
)


def attempt(work: Callable[[Job], Result], job: Job) -> Result | Failure:
    """The result of a job, or its failure; the other jobs go on."""
    try:
        return work(job)
    except WmelError as error:
        return Failure(printable(message_of(error), LONGEST_LINE))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit, which would end the run without a word
        return Failure(f"{describe_error(error)}{locate_error(error)}")


@refuse_unknown_settings
@dataclass(frozen=True)
class Serial:
    """Runs one job after the other."""

    @property
    def workers(self) -> int:
        return 1

    def __call__(
        self, work: Callable[[Job], Result], jobs: Iterable[Job]
    ) -> Generator[tuple[Job, Result | Failure], None, None]:
        """Yields each job with its outcome when it is done."""
        for job in jobs:
            yield job, attempt(work, job)


@refuse_unknown_settings
@dataclass(frozen=True)
class Processes:
    """Distributes jobs over processes, each with one thread.

    If a process dies, its job is tried once more in a new process; no other job is affected. The job of a process that
    is stopped (SIGSTOP) waits until it goes on or is killed; the other processes take the jobs that are left.
    """

    workers: int | None = setting(None, "processes; none: as many as there are cores", at_least=1, cap=MAX_THREADS)

    def __post_init__(self):
        check_settings(self)
        if self.workers is None:
            object.__setattr__(self, "workers", len(os.sched_getaffinity(0)))

    def __call__(
        self, work: Callable[[Job], Result], jobs: Iterable[Job]
    ) -> Generator[tuple[Job, Result | Failure], None, None]:
        """Yields each job with its outcome, in the order in which they are done."""
        assert self.workers is not None
        queue = deque(jobs)
        workers = [_Worker(partial(attempt, work)) for _ in range(min(self.workers, len(queue)))]
        try:
            for worker in workers:
                worker.take(queue.popleft())
            while busy := {worker.future: worker for worker in workers if worker.future is not None}:
                for future in wait(busy, return_when=FIRST_COMPLETED).done:
                    worker = busy[future]
                    job, outcome = worker.job, worker.outcome()
                    if outcome is RETRIED:
                        continue
                    if outcome is NOT_STARTED and not any(one.has_started for one in workers):
                        raise WmelError(NOT_STARTED.reason)  # nothing that is left could start either
                    if queue:
                        worker.take(queue.popleft())
                    else:
                        worker.future = None
                    yield job, outcome
        finally:
            _stop([worker.pool for worker in workers if worker.pool is not None])


@dataclass(eq=False)
class _Worker:
    """One process and its job; a process that dies is replaced."""

    work: Callable[[Any], Any]
    pool: ProcessPoolExecutor | None = None  # with one process, so that its death affects no other
    started: Future[Any] | None = None  # whether the process has started
    future: Future[Any] | None = None  # of the job; None while there is none
    job: Any = None
    deaths: int = 0  # of processes that had this job
    failed_starts: int = 0  # of processes that should have had it
    has_started: bool = False  # whether any process did

    def take(self, job: Any) -> None:
        self.job, self.deaths, self.failed_starts = job, 0, 0
        self._submit()

    def outcome(self) -> Any:
        """The result of the job or a `Failure`; `RETRIED` if the process died and another one has the job."""
        assert self.future is not None
        error = self.future.exception()
        if error is None:
            self.has_started = True
            return self.future.result()
        if isinstance(error, KeyboardInterrupt):  # raised by the job: a worker ignores Ctrl-C
            return Failure(describe_error(error))
        if not isinstance(error, BrokenProcessPool):
            return Failure(f"the job or its result could not be sent between processes: {describe_error(error)}")
        was_killed = self._remove_process()
        if self.deaths == MAX_ATTEMPTS:
            return Failure("its worker died twice: it ran out of memory, or was killed")
        if self.failed_starts == MAX_STARTS:
            return KILLED_AT_START if was_killed else NOT_STARTED
        self._submit()
        return RETRIED

    def _submit(self) -> None:
        if self.pool is None:
            self._start()
        assert self.pool is not None
        try:
            self.future = self.pool.submit(self.work, self.job)
        except BrokenProcessPool as error:  # it died before it had the job
            self.future = Future()
            self.future.set_exception(error)

    def _start(self) -> None:
        """Starts the process without waiting for it."""
        initializer = {"initializer": _initialize_worker, "initargs": (os.getpid(), sys.path)}
        with _worker_environment():
            self.pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), **initializer)
            self.started = self.pool.submit(os.getpid)
        writer = self.pool._result_queue._writer  # pyright: ignore[reportAttributeAccessIssue]
        writer.close()  # the process has its own end; otherwise a result that it sent half would be waited for

    def _remove_process(self) -> bool:
        """Removes a process that died; returns whether it was killed."""
        assert self.pool is not None and self.started is not None
        (process,) = self.pool._processes.values()
        if self.started.exception() is None:
            self.deaths, self.has_started = self.deaths + 1, True
        else:
            self.failed_starts += 1
        process.join(SECONDS_TO_EXIT)  # one that ends by itself has an exit code of its own
        _stop([self.pool])
        self.pool = None
        return process.exitcode == -signal.SIGKILL


@contextmanager
def _worker_environment() -> Iterator[None]:
    """Sets the environment variables that a new process inherits, and restores them."""
    own = WORKER_THREADS | SAFE_PATH
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _initialize_worker(parent: int, path: list[str]) -> None:
    """Makes a worker ignore Ctrl-C, which its parent handles, and end when its parent does."""
    sys.path[:] = path
    for name in SAFE_PATH:
        os.environ.pop(name, None)  # of this process alone, not of those that a part starts
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # also if it is stopped, or in a long call of C

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(SECONDS_BETWEEN_CHECKS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _stop(pools: list[ProcessPoolExecutor]) -> None:
    """Kills the processes of pools at once."""
    for pool in pools:
        for process in list((pool._processes or {}).values()):
            process.kill()  # a stopped process would not react to a request to end
    for pool in pools:
        pool.shutdown(cancel_futures=True)  # waits, as a pool that closes while Python ends prints a traceback
