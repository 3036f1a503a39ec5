"""How an estimate is written for people."""

from wmel.analysis.horizon import HorizonSweep
from wmel.stats.estimate import Estimate


def number(estimate: Estimate, digits: int = 3) -> str:
    """The value, or n/a."""
    return "n/a" if estimate.value is None else f"{estimate.value:.{digits}f}"


def bounds(estimate: Estimate, digits: int = 3) -> str:
    """The interval, or n/a."""
    if estimate.low is None or estimate.high is None:
        return "n/a"
    return f"[{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def short(value: float | None) -> str:
    """Three digits of a number of any size, or n/a."""
    return "n/a" if value is None else f"{value:.3g}"


def horizon_note(sweep: HorizonSweep) -> str:
    """What belongs beside H*: epsilon and the confidence set, or why there is none."""
    effective = sweep.effective_horizon
    if not effective.is_defined:
        return effective.reason
    held = "" if effective.low is None else f"; confidence set {effective.low:.0f} to {effective.high:.0f}"
    return f"documents' rule, epsilon {sweep.epsilon:g}{held}"
