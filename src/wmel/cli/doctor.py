"""`wmel doctor`: what is installed, what is missing, and how to get it."""

import json as json_format
from typing import Any

from wmel.cli.list_parts import Json


def doctor(json: Json = False) -> None:
    """Print versions, and for every extra what is present or how to install it."""
    import os
    import platform
    from importlib.metadata import requires, version

    from wmel.reports.terminal import lines_of, table

    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    versions = {"wmel": version("wmel"), "python": platform.python_version(), "machine": machine}
    rows = [_row(requirement) for requirement in requires("wmel") or []]
    if json:
        print(json_format.dumps({**versions, "packages": rows}, indent=1))
        return
    print(f"wmel {versions['wmel']}, Python {versions['python']}, {machine}")
    packages = table("part", "package", "wanted", "installed")
    for row in rows:
        wrong = "" if row["fits"] or row["installed"] is None else " (wrong)"
        packages.add_row(row["part"], row["package"], row["wanted"], f"{row['installed'] or 'missing'}{wrong}")
    print(lines_of(packages))
    for extra in dict.fromkeys(row["part"] for row in rows if not row["fits"] and row["part"] != "core"):
        print(f"extra '{extra}' is not complete: pip install 'wmel[{extra}]'{_caveat(extra)}")


def _row(requirement: str) -> dict[str, Any]:
    """What a requirement wants, what is installed, and whether that fits."""
    part, package, wanted = _parsed(requirement)
    found = _installed(package)
    fits = found is not None and _fits(found, wanted)
    return {"part": part, "package": package, "wanted": wanted, "installed": found, "fits": fits}


def _parsed(requirement: str) -> tuple[str, str, str]:
    """A requirement line of the package's metadata -> extra, package, wanted versions."""
    import re

    demand, _, marker = requirement.partition(";")
    extra = re.search(r"extra == .([a-z]+)", marker)
    package = re.match(r"[\w.-]+", demand)
    assert package is not None, requirement
    return extra[1] if extra else "core", package[0], demand[package.end() :].strip() or "any"


def _installed(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

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
    import re

    return tuple(int(number) for number in re.findall(r"\d+", version.split("+")[0]))


def _caveat(extra: str) -> str:
    import sys

    if extra == "control" and sys.version_info >= (3, 13):
        return " (on Python 3.11 or 3.12: a dependency of dm-control has no 3.13 wheel)"
    return ""
