"""Cells of tables: numbers and estimates as text, with the reason where they are n/a."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wmel.contract.cell import label_text
from wmel.reports.document import NOT_APPLICABLE, Section, Table, TableCell, TableColumn
from wmel.reports.entries import estimate_from
from wmel.reports.json_envelope import CoverageEntry, EstimateEntry, ScorecardEntry
from wmel.reports.words import bounds, number, short
from wmel.stats.estimate import Estimate

COMPUTE = "average_compute_per_decision"


def undefined(reason: str) -> TableCell:
    return TableCell("n/a", reason or "no reason is recorded")


def metric_cell(card: ScorecardEntry, metric: str, digits: int = 3) -> TableCell:
    """The value of a metric; a policy that plans nothing has no compute."""
    estimate = _metric(card, metric)
    if metric == COMPUTE and estimate.value is None:
        return NOT_APPLICABLE
    return _worded(estimate, number, digits)


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


def scorecard_table(caption: str, estimates: Mapping[str, Estimate]) -> Table:
    """One row per metric; an undefined one has its reason."""
    rows = tuple(
        (
            TableCell(name),
            TableCell(number(one), value=one.value),
            NOT_APPLICABLE if one.low is None else TableCell(bounds(one)),
            TableCell(str(one.n), value=one.n),
            TableCell(one.method if one.is_defined else one.reason),
        )
        for name, one in estimates.items()
    )
    titles = ("value", "95% interval", "n")
    columns = (TableColumn("metric", False), *map(TableColumn, titles), TableColumn("note", False))
    return Table(caption, columns, rows)


IQM = "return (IQM)"
COSTS = {
    "steps": ("average_steps_to_success", 1),
    "compute/decision": (COMPUTE, 1),
    "latency_ms": ("average_planning_latency_ms", 2),
    "return": ("average_return", 1),
    IQM: ("interquartile_mean_return", 1),
    "pre-solved": ("pre_solved_rate", 3),
    "errors": ("error_rate", 3),
}


def arms_table(
    caption: str,
    cards: Mapping[str, ScorecardEntry],
    metrics: Sequence[str],
    own: Mapping[str, Mapping[str, Any]] | None = None,
) -> Table:
    """What each arm reached and cost; `metrics` are added, `own` are labels of single arms."""
    own = own or {}
    measured = {**COSTS, **{name: (name, 3) for name in metrics}}
    labels = list(dict.fromkeys(label for arm in cards for label in own.get(arm, {})))
    columns = (
        TableColumn("arm", False),
        *(TableColumn(label, False) for label in labels),
        *(TableColumn(title, is_detail=title == IQM) for title in ("success", "95% interval", *measured)),
        TableColumn("n", is_detail=True),
    )
    rows = tuple(
        (
            TableCell(arm),
            *(TableCell(label_text(own.get(arm, {}).get(label, ""))) for label in labels),
            metric_cell(card, "success_rate"),
            metric_bounds(card, "success_rate"),
            *(metric_cell(card, name, digits) for name, digits in measured.values()),
            TableCell(str(card.episodes), value=card.episodes),
        )
        for arm, card in cards.items()
    )
    return Table(caption, columns, rows)


def coverage_section(coverage: Mapping[str, CoverageEntry | None]) -> Section:
    """Where the states that each arm visited lie along the axis to be covered; empty where there is none."""
    known = {name: one for name, one in coverage.items() if one is not None}
    axis = next((one.axis for one in known.values()), "")
    return Section(f"Visited states: {axis}", [coverage_table(known)])


def coverage_table(coverage: Mapping[str, CoverageEntry]) -> Table:
    """The same as a table alone."""
    axis = next((one.axis for one in coverage.values()), "")
    columns = (TableColumn("name", False), *map(TableColumn, ("states", "mean", "max", "above 1/2", "above 3/4")))
    rows = tuple(
        (
            TableCell(name),
            TableCell(str(one.states)),
            TableCell(f"{one.mean:.3f}"),
            TableCell(f"{one.most:.3f}"),
            TableCell(f"{one.above_half:.1%}"),
            TableCell(f"{one.above_three_quarters:.1%}"),
        )
        for name, one in coverage.items()
    )
    caption = f"{axis} of visited states (shares above half and three quarters of the way up)"
    return Table(caption, columns, rows)
