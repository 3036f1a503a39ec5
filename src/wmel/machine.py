"""The machine a number was measured on: threads in use and versions of packages."""

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.metadata import version

from threadpoolctl import threadpool_limits

PACKAGES = {"wmel": "wmel", "numpy": "numpy", "mujoco": "mujoco", "dm_control": "dm-control", "torch": "torch"}


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


def versions_in_use() -> dict[str, str]:
    """Of Python and of each package that has been imported and can change a result."""
    loaded = {module: _version(package) for module, package in PACKAGES.items() if module in sys.modules}
    return {"python": platform.python_version(), **loaded}


_version = cache(version)  # asked anew it reads the package's files
