"""What a gap may be called, and a verdict that calls it so."""

from dataclasses import dataclass
from enum import StrEnum

from wmel.stats.estimate import Estimate


class Label(StrEnum):
    """What may be said."""

    MODEL_BOTTLENECK = "MODEL BOTTLENECK"
    LEARNED_OUTPERFORMS = "LEARNED OUTPERFORMS ORACLE"
    PLANNER_BOTTLENECK = "PLANNER BOTTLENECK"
    AS_GOOD = "MODEL AS GOOD AS ORACLE"
    EQUIVALENT = "EQUIVALENT, PLANNER-LIMITED"
    EQUIVALENT_ONLY = "EQUIVALENT"  # nothing is claimed of how good the oracle is
    INCONCLUSIVE = "INCONCLUSIVE"
    INCONCLUSIVE_FUTILE = "INCONCLUSIVE (stopped for futility)"
    INCONCLUSIVE_ERRORS = "INCONCLUSIVE (errors)"


DECIDED = (  # labels after which an anytime run adds no pairs
    Label.MODEL_BOTTLENECK,
    Label.LEARNED_OUTPERFORMS,
    Label.EQUIVALENT_ONLY,
    Label.INCONCLUSIVE_FUTILE,
)


@dataclass(frozen=True)
class Verdict:
    """A label, the rule, margins and interval of the gap behind it, why, and the n per arm that would decide."""

    label: Label
    rule: str
    margins: dict[str, float]
    interval: Estimate
    reason: str
    n_that_decides: int | None = None  # with 80% probability if the rates are as seen; None: decided, or no n does

    def __str__(self) -> str:
        return f"{self.label} ({self.rule}): {self.reason}"


def shown(interval: Estimate) -> str:
    """An interval as it is printed: clipped to what a gap can be, and said so."""
    assert interval.low is not None and interval.high is not None
    clipped = " (clipped)" if interval.low < -1 or interval.high > 1 else ""
    return f"[{max(interval.low, -1):+.3f}, {min(interval.high, 1):+.3f}]{clipped}"
