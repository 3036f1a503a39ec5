"""How an estimate is written for people."""

from wmel.stats.estimate import Estimate


def number(estimate: Estimate, digits: int = 3) -> str:
    """The value, or n/a."""
    return "n/a" if estimate.value is None else f"{estimate.value:.{digits}f}"


def bounds(estimate: Estimate, digits: int = 3) -> str:
    """The interval, or n/a."""
    if estimate.low is None or estimate.high is None:
        return "n/a"
    return f"[{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"
