"""The report of a sweep: a line for each point, and the planning horizon that is enough."""

from wmel.analysis.horizon import HorizonSweep
from wmel.contract.labels import label_text
from wmel.reports.arms import coverage_table
from wmel.reports.cells import metric_bounds, metric_cell
from wmel.reports.document import Document, Figure, Section, Table, TableCell, TableColumn, Text, figure_of
from wmel.reports.json_envelope import SweepRecord
from wmel.reports.words import describe_setting, horizon_note, number, stamp_words


def sweep_document(record: SweepRecord, sweep: HorizonSweep) -> Document:
    """The whole report."""
    metadata, swept = record.metadata, list(record.points[0].swept) or ["plan_horizon"]
    columns = (
        *(TableColumn(name, False) for name in swept),
        *map(TableColumn, ("success", "95% CI", "steps", "latency_ms", "95% CI (ms)", "compute/decision")),
        *map(TableColumn, metadata.metrics),
    )
    rows = tuple(
        (
            *(TableCell(label_text(at)) for at in list(point.swept.values()) or [point.plan_horizon]),
            metric_cell(point.scorecard, "success_rate"),
            metric_bounds(point.scorecard, "success_rate"),
            metric_cell(point.scorecard, "average_steps_to_success", 1),
            metric_cell(point.scorecard, "average_planning_latency_ms"),
            metric_bounds(point.scorecard, "average_planning_latency_ms"),
            metric_cell(point.scorecard, "average_compute_per_decision", 1),
            *(metric_cell(point.scorecard, name) for name in metadata.metrics),
        )
        for point in record.points
    )
    table = Table(f"{record.policy_name} over {', '.join(swept)}", columns, rows, names=len(swept))
    enough = f"effective horizon H* = {number(sweep.effective_horizon, 0)} ({horizon_note(sweep)})"
    covered = {
        " ".join(f"{name}={label_text(value)}" for name, value in point.swept.items()): point.coverage
        for point in record.points
        if point.coverage is not None
    }
    sections = [
        Section("Points", [table.without_empty_columns, *([Text(enough)] if "plan_horizon" in swept else [])]),
        Section("Curve", [Figure("curve", "Success over what is swept", figure_of("figures:sweep_figure", record))]),
        Section("Visited states", [coverage_table(covered)] if covered else []),
    ]
    setting = describe_setting(metadata, f"{metadata.episodes_per_point} per point{_length_words(record)}", swept)
    title = f"{record.policy_name} in {metadata.env} over {', '.join(swept)}"
    return Document(title, sweep_answer(record), [Text(setting, True)], sections, stamp_words(record))


def sweep_answer(record: SweepRecord) -> str:
    """What a sweep comes to, in a sentence."""
    enough, best = record.effective_horizon, max(record.points, key=lambda point: point.scorecard.success_rate or 0)
    swept = best.swept or {"plan_horizon": best.plan_horizon}
    at = " ".join(f"{name}={label_text(value)}" for name, value in swept.items())
    rate = best.scorecard.success_rate
    found = "no criterion of success was given" if rate is None else f"success is highest, {rate:.3f}, at {at}"
    shortest = "" if enough.value is None else f"; a plan horizon of {enough.value:.0f} is enough"
    return f"{record.policy_name} in {record.metadata.env}: {found}{shortest}."


def _length_words(record: SweepRecord) -> str:
    """How long the episodes of every point may be; nothing where that is swept."""
    longest = record.metadata.episode_horizon
    swept = [one.swept.get("max_steps", one.swept.get("environment.max_steps")) for one in record.points]
    return "" if longest in swept else f", of at most {longest} steps"
