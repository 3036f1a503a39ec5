"""The machine a number was measured on: threads in use, versions of packages, and whether they are those wanted."""

import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

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


def requirements() -> list[dict[str, Any]]:
    """What wmel and each of its extras want, what is installed, and whether that fits."""
    return [_row(requirement) for requirement in requires("wmel") or []]


def extra_with(module: str) -> str | None:
    """The extra of wmel that installs a module; None where none does."""
    package = module.partition(".")[0].replace("_", "-")  # dm_control is installed by dm-control
    return next((row["part"] for row in requirements() if row["package"] == package and row["part"] != "core"), None)


def _row(requirement: str) -> dict[str, Any]:
    """What a requirement wants, what is installed, and whether that fits."""
    part, package, wanted = _parsed(requirement)
    found = _installed(package)
    fits = found is not None and _fits(found, wanted)
    return {"part": part, "package": package, "wanted": wanted, "installed": found, "fits": fits}


def _parsed(requirement: str) -> tuple[str, str, str]:
    """A requirement line of the package's metadata -> extra, package, wanted versions."""
    demand, _, marker = requirement.partition(";")
    extra = re.search(r"extra == .([a-z]+)", marker)
    package = re.match(r"[\w.-]+", demand)
    assert package is not None, requirement
    return extra[1] if extra else "core", package[0], demand[package.end() :].strip() or "any"


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _fits(found: str, wanted: str) -> bool:
    """Whether a version is one of those wanted: any, >=A, ==A or ==A.*, several with commas."""
    return all(_fits_one(found, part.strip()) for part in wanted.split(",") if part.strip() != "any")


def _fits_one(found: str, wanted: str) -> bool:
    sign, version = wanted[:2], wanted[2:]
    if sign == "==":
        return f"{found}.".startswith(version.removesuffix("*").rstrip(".") + ".")
    return sign != ">=" or _numbers(found) >= _numbers(version)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.split("+")[0]))
