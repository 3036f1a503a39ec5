"""Verdicts: what a gap may be called, by the documents' rule and by one that refuses to over-claim."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from wmel.analysis.cpg import CPGResult
from wmel.errors import BadInput
from wmel.stats.agresti_caffo import agresti_caffo
from wmel.stats.bounds import Bounds
from wmel.stats.clopper_pearson import clopper_pearson
from wmel.stats.miettinen_nurminen import miettinen_nurminen
from wmel.stats.pairs import PairedCounts
from wmel.stats.tango import tango

TAU = 0.05  # paper: rates this close to 0 or 1 count as there
DELTA = 0.10  # strict: gaps smaller than this count as none
RHO = 0.10  # strict: rates that are surely this close to 0 or 1 count as there
MOST_ERRORS = 0.01  # share of broken episodes beyond which nothing is claimed
LARGEST_N = 100_000


class Label(StrEnum):
    """What may be said."""

    MODEL_BOTTLENECK = "MODEL BOTTLENECK"
    LEARNED_OUTPERFORMS = "LEARNED OUTPERFORMS ORACLE"
    PLANNER_BOTTLENECK = "PLANNER BOTTLENECK"
    AS_GOOD = "MODEL AS GOOD AS ORACLE"
    EQUIVALENT = "EQUIVALENT, PLANNER-LIMITED"
    INCONCLUSIVE = "INCONCLUSIVE"
    INCONCLUSIVE_ERRORS = "INCONCLUSIVE (errors)"


STRICT_LABELS = (
    Label.MODEL_BOTTLENECK,
    Label.LEARNED_OUTPERFORMS,
    Label.PLANNER_BOTTLENECK,
    Label.AS_GOOD,
    Label.EQUIVALENT,
    Label.INCONCLUSIVE,
)


@dataclass(frozen=True)
class Verdict:
    """A label, the rule and margins behind it, why, and how many episodes per arm would decide where nothing is."""

    label: Label
    rule: str
    margins: dict[str, float]
    reason: str
    n_that_decides: int | None = None

    def __str__(self) -> str:
        return f"{self.label} ({self.rule}): {self.reason}"


def cpg_verdict(result: CPGResult, rule: str = "strict") -> Verdict:
    """The verdict of a gap by the rule `strict` (default) or `paper`."""
    rules: dict[str, Callable[[CPGResult], Verdict]] = {"strict": _strict, "paper": _paper}
    if rule not in rules:
        raise BadInput(f"no verdict rule named {rule!r}; known: strict, paper")
    verdict = rules[rule](result)
    if not result.errors:
        return verdict
    share = result.errors / (result.n_episodes_oracle + result.n_episodes_learned)
    other = None if result.without_errors is None else rules[rule](result.without_errors)
    if share > MOST_ERRORS or other is None or other.label is not verdict.label:
        without = "nothing is left" if other is None else f"without them it is {other.label}"
        reason = f"{result.errors} episodes broke ({share:.1%}); counted as failures it is {verdict.label}, {without}"
        return replace(verdict, label=Label.INCONCLUSIVE_ERRORS, reason=reason, n_that_decides=None)
    return verdict


def _paper(result: CPGResult) -> Verdict:
    """The documents' five branches on the Agresti-Caffo interval; two of them rest on point estimates."""
    interval, rates = result.agresti_caffo, (result.oracle_success_rate, result.learned_success_rate)
    assert interval.low is not None and interval.high is not None
    label, reason = Label.INCONCLUSIVE, f"the interval {_shown(interval.low, interval.high)} holds 0"
    if interval.low > 0:
        label, reason = Label.MODEL_BOTTLENECK, f"the interval {_shown(interval.low, interval.high)} lies above 0"
    elif interval.high < 0:
        label, reason = Label.LEARNED_OUTPERFORMS, f"the interval {_shown(interval.low, interval.high)} lies below 0"
    elif max(rates) <= TAU:
        label, reason = Label.PLANNER_BOTTLENECK, f"both observed rates are at most {TAU:g}"
    elif min(rates) >= 1 - TAU:
        label, reason = Label.AS_GOOD, f"both observed rates are at least {1 - TAU:g}"
    return _with_n(Verdict(label, "paper", {"tau": TAU}, reason), result, _paper_decides)


def _strict(result: CPGResult) -> Verdict:
    """Every branch rests on an interval: a gap at 95%, rates by exact one-sided 95% bounds, equivalence at 90%."""
    gap, near = result.interval(0.95), result.interval(0.90)
    oracle = clopper_pearson(result.oracle_successes, result.n_episodes_oracle, confidence=0.90)
    learned = clopper_pearson(result.learned_successes, result.n_episodes_learned, confidence=0.90)
    label = STRICT_LABELS[int(strict_branches(gap, near, oracle, learned))]
    reasons = {
        Label.MODEL_BOTTLENECK: f"the 95% interval {_shown(*gap)} lies above 0",
        Label.LEARNED_OUTPERFORMS: f"the 95% interval {_shown(*gap)} lies below 0",
        Label.PLANNER_BOTTLENECK: f"both rates are surely at most {RHO:g}",
        Label.AS_GOOD: f"the 90% interval {_shown(*near)} is within {DELTA:g} of 0; the oracle surely gets {1 - RHO:g}",
        Label.EQUIVALENT: f"the 90% interval {_shown(*near)} is within {DELTA:g} of 0; neither solves the task",
        Label.INCONCLUSIVE: f"the 95% interval {_shown(*gap)} holds 0, too wide for equivalence",
    }
    margins = {"delta": DELTA, "rho": RHO, "alpha": 0.05}
    return _with_n(Verdict(label, "strict", margins, reasons[label]), result, _strict_decides)


def strict_branches(gap: Bounds, near: Bounds, oracle: Bounds, learned: Bounds) -> np.ndarray:
    """Which of STRICT_LABELS the 95% and 90% intervals of a gap and the exact bounds of both rates lead to."""
    equivalent = (near.low > -DELTA) & (near.high < DELTA)
    branches = [
        gap.low > 0,
        gap.high < 0,
        np.maximum(oracle.high, learned.high) <= RHO,
        equivalent & (oracle.low >= 1 - RHO),
        equivalent,
    ]
    return np.select(branches, range(len(branches)), default=len(branches))


def _with_n(verdict: Verdict, result: CPGResult, decides: Callable[[CPGResult, int], bool]) -> Verdict:
    """An inconclusive verdict with the n at which the observed rates would decide."""
    if verdict.label is not Label.INCONCLUSIVE:
        return verdict
    n = _smallest(lambda episodes: decides(result, episodes), max(result.n_episodes_oracle, result.n_episodes_learned))
    if n is None:
        advice = "no n decides: the rates look equal; widen delta or accept"
        return replace(verdict, reason=f"{verdict.reason}; {advice}")
    return replace(verdict, reason=f"{verdict.reason}; about {n} episodes per arm would decide", n_that_decides=n)


def _paper_decides(result: CPGResult, n: int) -> bool:
    low, high = agresti_caffo(result.oracle_success_rate * n, n, result.learned_success_rate * n, n)
    return bool(low > 0 or high < 0)


def _strict_decides(result: CPGResult, n: int) -> bool:
    def interval(confidence: float):
        if result.pairs is None:
            return miettinen_nurminen(
                result.oracle_success_rate * n, n, result.learned_success_rate * n, n, confidence=confidence
            )
        pairs, scale = result.pairs, n / result.pairs.n
        cells = (pairs.both, pairs.oracle_only, pairs.learned_only, pairs.neither)
        return tango(PairedCounts(*(cell * scale for cell in cells)), confidence=confidence)

    (low, high), (near_low, near_high) = interval(0.95), interval(0.90)
    return bool(low > 0 or high < 0 or (near_low > -DELTA and near_high < DELTA))


def _smallest(holds: Callable[[int], bool], start: int) -> int | None:
    low, high = start, 2 * start
    while not holds(high):
        low, high = high, 2 * high
        if high > LARGEST_N:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _shown(low: object, high: object) -> str:
    """An interval as it is printed: clipped to what a gap can be, and said so."""
    one, other = float(low), float(high)  # type: ignore[arg-type]
    clipped = " (clipped)" if one < -1 or other > 1 else ""
    return f"[{max(one, -1):+.3f}, {min(other, 1):+.3f}]{clipped}"
