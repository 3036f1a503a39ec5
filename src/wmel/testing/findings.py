"""Findings of a conformance kit: the promises of a contract, and the problems."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wmel.arrays import to_numpy
from wmel.errors import describe_error, locate_error

TOLERANCE = 1e-6  # rows can differ by this much between batch sizes; exact equality is noted


@dataclass(frozen=True)
class Finding:
    """One promise of a contract. `problem` is empty if the promise is kept. `note` is further information."""

    promise: str
    problem: str = ""
    note: str = ""

    @property
    def kept(self) -> bool:
        return not self.problem


def check_promises(part: Any, promises: Sequence[Callable[[Any], Finding | str]]) -> list[Finding]:
    """Checks every promise. The name of a promise is the docstring of its function. An exception breaks the promise."""
    return [_check_promise(part, promise) for promise in promises]


def failures(found: Sequence[Finding]) -> list[str]:
    """One sentence for each broken promise."""
    return [f"{finding.promise}: {finding.problem}" for finding in found if not finding.kept]


def compare(promise: str, one: Any, other: Any, problem: str) -> Finding:
    """A finding that is kept if two arrays are equal within the tolerance. It notes whether they are exactly equal."""
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or not np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
        return Finding(promise, problem)
    exact = np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return Finding(promise, note="bit for bit" if exact else f"within {TOLERANCE:g}, not bit for bit")


def find_changed(results: Mapping[str, Any], call_again: Callable[[], object]) -> str:
    """The problem if a result of a method changes while methods are called again; empty if none does."""
    before = {name: to_numpy(result).copy() for name, result in results.items()}
    call_again()
    for name, result in results.items():
        if not np.array_equal(before[name], to_numpy(result), equal_nan=before[name].dtype.kind == "f"):
            return f"the result of {name} changed at a later call; return a new array at every call"
    return ""


def _check_promise(part: Any, promise: Callable[[Any], Finding | str]) -> Finding:
    name = (promise.__doc__ or promise.__name__).strip().rstrip(".")
    try:
        outcome = promise(part)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        place = locate_error(error)
        return Finding(name, f"it raised {describe_error(error)}{place}; calls within the contract must not raise")
    if isinstance(outcome, Finding):
        return Finding(name, outcome.problem, outcome.note)
    return Finding(name, outcome)
