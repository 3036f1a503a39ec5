"""The machine of a measurement: its threads, its package versions, and whether they meet the requirements."""

import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

from threadpoolctl import ThreadpoolController

PACKAGES = {"wmel": "wmel", "numpy": "numpy", "mujoco": "mujoco", "dm_control": "dm-control", "torch": "torch"}

_limit: ContextVar[int | None] = ContextVar("limit", default=None)


def thread_limit() -> int:
    """Threads a simulator may use: the limit in force, else OMP_NUM_THREADS, else the cores of this process."""
    limit = _limit.get() or _omp_threads()
    if limit is not None:
        return limit
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def limit_blas_threads() -> AbstractContextManager[object]:
    """Limits numerical libraries to OMP_NUM_THREADS threads, or to one: a second thread makes small plans slower."""
    return _libraries(len(sys.modules)).limit(limits=_omp_threads() or 1)


def _omp_threads() -> int | None:
    """The environment variable OMP_NUM_THREADS, or None where it holds no positive number."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    return int(text) if text.isdecimal() and int(text) > 0 else None


@contextmanager
def limit_threads(count: int) -> Iterator[None]:
    """Limits numerical libraries and simulators to a number of threads."""
    token = _limit.set(count)
    try:
        with _libraries(len(sys.modules)).limit(limits=count):
            yield
    finally:
        _limit.reset(token)


@lru_cache(maxsize=1)
def _libraries(imported: int) -> ThreadpoolController:
    """The numerical libraries of this process. The search takes milliseconds; it is repeated after further imports."""
    return ThreadpoolController()


def versions_in_use() -> dict[str, str]:
    """Versions of Python and of each imported package that can change a result."""
    loaded = {
        name: _installed_version(package) or "source" for name, package in PACKAGES.items() if name in sys.modules
    }
    return {"python": platform.python_version(), **loaded}


def requirements() -> list[dict[str, Any]]:
    """Each package that wmel and its extras require: the required and installed versions, and whether they agree."""
    return [_check_requirement(requirement) for requirement in _requirements_of_wmel()]


def wmel_version() -> str:
    """The installed version; of a source tree that is not installed, `source`."""
    return _installed_version("wmel") or "source"


def _requirements_of_wmel() -> list[str]:
    """The requirement lines of the package's metadata; none where wmel runs from a source tree."""
    return [] if _installed_version("wmel") is None else requires("wmel") or []


def extra_with(module: str) -> str | None:
    """The extra of wmel that installs a module; None where none does."""
    package = module.partition(".")[0].replace("_", "-")  # dm_control is installed by dm-control
    return next((row["part"] for row in requirements() if row["package"] == package and row["part"] != "core"), None)


def _check_requirement(requirement: str) -> dict[str, Any]:
    part, package, required = _parse_requirement(requirement)
    found = _installed_version(package)
    fits = found is not None and _satisfies(found, required)
    return {"part": part, "package": package, "wanted": required, "installed": found, "fits": fits}


def _parse_requirement(requirement: str) -> tuple[str, str, str]:
    """A requirement line of the package's metadata -> extra, package, required versions."""
    demand, _, marker = requirement.partition(";")
    extra = re.search(r"extra == .([a-z]+)", marker)
    package = re.match(r"[\w.-]+", demand)
    assert package is not None, requirement
    return extra[1] if extra else "core", package[0], demand[package.end() :].strip() or "any"


@cache  # every call of `version` reads the package's files
def _installed_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _satisfies(found: str, required: str) -> bool:
    """Whether a version satisfies a requirement: any, >=A, ==A or ==A.*, or several of these with commas."""
    return all(_satisfies_one(found, part.strip()) for part in required.split(",") if part.strip() != "any")


def _satisfies_one(found: str, required: str) -> bool:
    sign, version = required[:2], required[2:]
    if sign == "==":
        return f"{found}.".startswith(version.removesuffix("*").rstrip(".") + ".")
    return sign != ">=" or _parse_version(found) >= _parse_version(version)


def _parse_version(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.split("+")[0]))
