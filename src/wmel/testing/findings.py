"""What a kit found: a promise, and the sentence that says how it is broken."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wmel.errors import describe_error

TOLERANCE = 1e-6  # rows may differ this much between batch sizes; bit-equality is reported


@dataclass(frozen=True)
class Finding:
    """One promise of a contract; `problem` is empty where it is kept, `note` may say more."""

    promise: str
    problem: str = ""
    note: str = ""

    @property
    def kept(self) -> bool:
        return not self.problem


def findings(part: Any, promises: Sequence[Callable[[Any], Finding | str]]) -> list[Finding]:
    """Try every promise; a part that raises has broken the promise, and says how."""
    return [_tried(part, promise) for promise in promises]


def failures(found: Sequence[Finding]) -> list[str]:
    """One sentence per broken promise."""
    return [f"{finding.promise}: {finding.problem}" for finding in found if not finding.kept]


def compared(promise: str, one: Any, other: Any, problem: str) -> Finding:
    """Kept within the tolerance; whether to the last bit is noted."""
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or not np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
        return Finding(promise, problem)
    exact = np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return Finding(promise, note="bit for bit" if exact else f"within {TOLERANCE:g}, not bit for bit")


def _tried(part: Any, promise: Callable[[Any], Finding | str]) -> Finding:
    name = (promise.__doc__ or promise.__name__).strip().rstrip(".")
    try:
        outcome = promise(part)
    except Exception as error:
        return Finding(name, f"it raised {describe_error(error)}; calls within the contract must not raise")
    if isinstance(outcome, Finding):
        return Finding(name, outcome.problem, outcome.note)
    return Finding(name, outcome)
