"""How many threads native code may use: all cores the process was given, unless something says fewer."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

from threadpoolctl import threadpool_limits

_limit: ContextVar[int | None] = ContextVar("limit", default=None)


def threads() -> int:
    """Threads a simulator may use now: the limit in force, else OMP_NUM_THREADS, else the cores this process has."""
    asked = _limit.get() or os.environ.get("OMP_NUM_THREADS", "")
    if str(asked).isdecimal() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def arrays_on_few() -> AbstractContextManager[object]:
    """Numerical libraries on OMP_NUM_THREADS threads, or on one: at the sizes of a plan a second one costs time."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return threadpool_limits(limits=int(asked) if asked.isdecimal() and int(asked) > 0 else 1)


@contextmanager
def limited_to(count: int) -> Iterator[None]:
    """Numerical libraries and simulators on at most so many threads."""
    token = _limit.set(count)
    try:
        with threadpool_limits(limits=count):
            yield
    finally:
        _limit.reset(token)
