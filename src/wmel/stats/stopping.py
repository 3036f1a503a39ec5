"""When a run of pairs may stop: as soon as the confidence sequence decides."""

from typing import Literal

from wmel.errors import require
from wmel.stats.confidence_sequence import confidence_sequence

Decision = Literal["gap", "equivalence"]


def anytime_decision(
    oracle_only: int, learned_only: int, pairs: int, *, delta: float = 0.10, alpha: float = 0.05
) -> Decision | None:
    """What these counts of pairs decide, whenever one looks; the order in which pairs finished does not matter."""
    require(0 < delta < 1, "delta must lie in (0, 1)", delta)
    low, high = confidence_sequence(oracle_only, learned_only, pairs, alpha=alpha)
    if low > 0 or high < 0:
        return "gap"
    return "equivalence" if -delta < low and high < delta else None
