"""`wmel doctor`: what is installed, what is missing, and how to get it."""

import json as json_format

from wmel.cli.list_parts import Json


def doctor(json: Json = False) -> None:
    """Print versions, and for every extra what is present or how to install it."""
    import os
    import platform

    from wmel.machine import requirements, wmel_version
    from wmel.reports.terminal import lines_of, table

    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    versions = {"wmel": wmel_version(), "python": platform.python_version(), "machine": machine}
    rows = requirements()
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


def _caveat(extra: str) -> str:
    import sys

    if extra == "control" and sys.version_info >= (3, 13):
        return " (on Python 3.11 or 3.12: a dependency of dm-control has no 3.13 wheel)"
    return ""
