"""wmel.doctor: what is installed, what is missing, and how to get it."""

import os
import platform
import sys

from wmel.api.verbs import verb
from wmel.machine import requirements, wmel_version
from wmel.reports.terminal import lines_of, table
from wmel.results import Result


@verb
def doctor() -> Result:
    """Versions, and for every extra what is installed or how to install it; `.entries` has the same as data."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    versions = {"wmel": wmel_version(), "python": platform.python_version(), "machine": machine}
    rows = requirements()
    packages = table("part", "package", "wanted", "installed")
    for row in rows:
        wrong = "" if row["fits"] or row["installed"] is None else " (wrong)"
        packages.add_row(row["part"], row["package"], row["wanted"], f"{row['installed'] or 'missing'}{wrong}")
    answer = f"wmel {versions['wmel']}, Python {versions['python']}, {machine}"
    incomplete = dict.fromkeys(row["part"] for row in rows if not row["fits"] and row["part"] != "core")
    advice = [f"extra '{one}' is not complete: pip install 'wmel[{one}]'{_caveat(one)}" for one in incomplete]
    return Result(
        answer,
        [dict(row) for row in rows],
        lines=[answer, lines_of(packages), *advice],
        verb="doctor",
        prints_rows=True,
        more={"entries": {**versions, "packages": rows}},
    )


def _caveat(extra: str) -> str:
    if extra == "control" and sys.version_info >= (3, 13):
        return " (on Python 3.11 or 3.12: a dependency of dm-control has no 3.13 wheel)"
    return ""
