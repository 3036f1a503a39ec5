"""Cells of tables: numbers and estimates as text, with the reason where they are n/a."""

from collections.abc import Callable

from wmel.reports.document import TableCell
from wmel.reports.entries import estimate_from
from wmel.reports.json_envelope import EstimateEntry, ScorecardEntry
from wmel.reports.words import bounds, number, short
from wmel.stats.estimate import Estimate


def undefined(reason: str) -> TableCell:
    return TableCell("n/a", reason or "no reason is recorded")


def metric_cell(card: ScorecardEntry, metric: str, digits: int = 3) -> TableCell:
    """The value of a metric."""
    return _worded(_metric(card, metric), number, digits)


def metric_bounds(card: ScorecardEntry, metric: str, digits: int = 3) -> TableCell:
    """The interval of a metric."""
    return _worded(_metric(card, metric), bounds, digits)


def estimate_cell(entry: EstimateEntry, digits: int = 3) -> TableCell:
    """A value with its interval, where it has one."""
    estimate = estimate_from(entry)
    if estimate.value is None or estimate.low is None:
        return _worded(estimate, number, digits)
    return TableCell(f"{number(estimate, digits)} {bounds(estimate, digits)}", value=estimate.value)


def with_interval(entry: EstimateEntry) -> TableCell:
    """Three digits of the value and of the ends of its interval."""
    estimate = estimate_from(entry)
    if estimate.value is None:
        return undefined(estimate.reason)
    if estimate.low is None or estimate.high is None:
        return TableCell(short(estimate.value), value=estimate.value)
    interval = f"[{short(estimate.low)}, {short(estimate.high)}]"
    return TableCell(f"{short(estimate.value)} {interval}", value=estimate.value)


def p_value_cell(value: float | None, reason: str) -> TableCell:
    """A p-value in two digits; the reason is why there is none."""
    if value is None:
        return undefined(reason)
    return TableCell(f"{value:.2g}" if value >= 1e-4 else "<0.0001", value=value)


def _metric(card: ScorecardEntry, name: str) -> Estimate:
    known = card.estimates.get(name)
    return Estimate.undefined("it is not in the record") if known is None else estimate_from(known)


def _worded(estimate: Estimate, words: Callable[[Estimate, int], str], digits: int) -> TableCell:
    text = words(estimate, digits)
    if text == "n/a":
        return undefined(estimate.reason or "it has no interval")
    return TableCell(text, value=estimate.value)
