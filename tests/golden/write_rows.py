"""Writes the golden rows: `python -m tests.golden.write_rows [FILE]`, by default rows.json of this folder.

The stored rows are those of commit 4f769b4. Replace rows.json only after a written decision (a page in
docs/decisions/) that the same seeds may give other rows from now on; a failing test alone is no reason.

On a machine with another CPU most cases are skipped. To compare there, check out the commit that added this folder,
whose src is that of 4f769b4, write its rows to another file, and name that file when testing:

    python -m tests.golden.write_rows /elsewhere/rows.json
    WMEL_GOLDEN_ROWS=/elsewhere/rows.json pytest tests/golden
"""

import json
import sys
from pathlib import Path
from typing import Any

from tests.golden.cases import CASES
from tests.golden.machine import describe_machine
from tests.golden.stored import ROWS


def compute_rows() -> dict[str, Any]:
    """The columns of every case, computed in its largest block."""
    return {name: case.compute(max(case.blocks)) for name, case in CASES.items()}


def main() -> None:
    """Computes every case and writes the file."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    file.write_text(_as_text(describe_machine(), compute_rows()), encoding="utf-8")


def _as_text(machine: dict[str, str], cases: dict[str, Any]) -> str:
    """JSON with one line per column, so that a difference between two versions is short."""
    entries = [
        f"  {json.dumps(name)}: {{\n"
        + ",\n".join(f"   {json.dumps(column)}: {json.dumps(rows)}" for column, rows in columns.items())
        + "\n  }"
        for name, columns in cases.items()
    ]
    described = json.dumps(machine, indent=1).replace("\n", "\n ")
    return f'{{\n "machine": {described},\n "cases": {{\n' + ",\n".join(entries) + "\n }\n}\n"


if __name__ == "__main__":
    main()
