"""The stored rows, as `write_rows` wrote them."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

ROWS = Path(__file__).parent / "rows.json"
ELSEWHERE = "WMEL_GOLDEN_ROWS"  # names another file, such as one written on this machine by the same commit


@cache
def read_rows() -> dict[str, Any]:
    """`machine`: where they were computed; `cases`: columns by name of the case."""
    return json.loads(Path(os.environ.get(ELSEWHERE, ROWS)).read_text(encoding="utf-8"))
