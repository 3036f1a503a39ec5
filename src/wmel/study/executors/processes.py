"""Jobs shared out over processes, each on one thread; a worker that dies costs its own job at most."""

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
from functools import partial
from multiprocessing import get_context
from typing import Any

from wmel.study.executors.outcome import Failure, Job, Result, attempted

SECONDS_BETWEEN_LOOKS = 0.5
THREADS_OF_A_WORKER: dict[str, str] = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def processes(
    work: Callable[[Job], Result], jobs: Iterable[Job], workers: int
) -> Generator[tuple[Job, Result | Failure], None, None]:
    """Each job with what became of it, in the order they are done.

    When a worker dies all that were being worked on are tried again, one at a time: one that kills its worker alone is
    to blame.
    """
    waiting, suspects = deque(jobs), deque()
    while waiting or suspects:
        alone = bool(suspects)
        queue = deque([suspects.popleft()]) if alone else waiting
        with closing(_until_broken(work, queue, 1 if alone else workers)) as outcomes:
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
    """Jobs taken from a queue and what became of them; None for those in hand when a worker died, which ends it."""
    pool, running = _pool(workers), {}
    try:
        while queue or running:
            while queue and len(running) < workers:
                job = queue.popleft()
                running[pool.submit(partial(attempted, work), job)] = job
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                job, outcome = running.pop(future), _outcome(future)
                yield job, outcome
                if outcome is None:
                    yield from ((other, None) for other in running.values())
                    return
    finally:
        _stopped(pool)


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
        context = get_context("spawn")
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(os.getpid(), sys.path))
        for future in [pool.submit(os.getpid) for _ in range(workers)]:  # have all started while the threads are set
            future.result()
    finally:
        for name, value in kept.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
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


def _stopped(pool: ProcessPoolExecutor) -> None:
    """Have its workers end now, whatever they are at."""
    for process in list((pool._processes or {}).values()):
        process.terminate()
    pool.shutdown(wait=False, cancel_futures=True)
