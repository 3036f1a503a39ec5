"""Rows as JSON values that keep every bit: floats round trip, NaN and infinity are words, long rewards are hashed."""

import math
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import numpy as np

LONGEST = 8  # numbers of a row that are stored in full


def encode_rows(rows: Iterable[Any]) -> list[Any]:
    """One JSON value per row."""
    return [_encode(row) for row in rows]


def differing_rows(stored: list[Any], found: list[Any]) -> list[str]:
    """Which rows differ, and how; `repr` also tells -0.0 from 0.0 and a whole number from a float."""
    if len(stored) != len(found):
        return [f"{len(stored)} rows are stored, {len(found)} were computed"]
    return [
        f"row {place}: stored {one!r}, computed {other!r}"
        for place, (one, other) in enumerate(zip(stored, found, strict=True))
        if repr(one) != repr(other)
    ]


def _encode(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.generic):
        return _encode(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    numbers = np.asarray(value, np.float64)
    if len(numbers) <= LONGEST:
        return [_encode(number) for number in numbers.tolist()]
    digest = sha256(np.ascontiguousarray(numbers).tobytes()).hexdigest()
    return {"count": len(numbers), "sum": _encode(float(numbers.sum())), "sha256": digest}
