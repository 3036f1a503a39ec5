"""Measuring two ways of doing the same thing in one run."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Comparison:
    """Best CPU seconds of each way, and how many times the first costs the second."""

    first: float
    second: float

    @property
    def ratio(self) -> float:
        return self.first / self.second


def compare(first: Callable[[], object], second: Callable[[], object], rounds: int = 5) -> Comparison:
    """Alternate the two so that both see the same machine; the best round of each counts."""
    times = [(_cpu_seconds(first), _cpu_seconds(second)) for _ in range(rounds)]
    return Comparison(min(one for one, _ in times), min(other for _, other in times))


def repeated(work: Callable[[], object], times: int) -> Callable[[], None]:
    """The work, so many times over: what is too short to be timed once."""

    def again() -> None:
        for _ in range(times):
            work()

    return again


def verdict(name: str, ratio: float, *, at_least: float = 0.0, at_most: float = float("inf"), unit: str = "x") -> bool:
    """Print a ratio beside its bound; whether it holds."""
    holds = at_least <= ratio <= at_most
    bound = f">= {at_least:g}" if at_least else f"<= {at_most:g}"
    print(f"{'ok  ' if holds else 'MISS'} {name}: {ratio:.2f}{unit} (bound {bound})")
    return holds


def _cpu_seconds(work: Callable[[], object]) -> float:
    gc.collect()
    begin = time.process_time()
    work()
    return time.process_time() - begin
