"""The report of a sweep: a line for each point, and the planning horizon that is enough."""

from functools import partial

from wmel.analysis.horizon import HorizonSweep
from wmel.contract.labels import label_text
from wmel.reports.arms import coverage_section
from wmel.reports.cells import metric_bounds, metric_cell
from wmel.reports.document import Document, Figure, Section, Table, TableCell, TableColumn, Text, draw_figure
from wmel.reports.json_envelope import SweepPointEntry, SweepRecord
from wmel.reports.words import count_words, describe_setting, horizon_note, listed_words, number, stamp_words

LISTED = 4  # more points than this are counted, not named


def sweep_document(record: SweepRecord, sweep: HorizonSweep) -> Document:
    """The whole report."""
    metadata, swept = record.metadata, list(record.points[0].swept) or ["plan_horizon"]
    columns = (
        *(TableColumn(name, False) for name in swept),
        *map(TableColumn, ("success", "95% interval", "steps", "latency_ms", "95% interval (ms)", "compute/decision")),
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
    sections = [
        Section("Points", [table.without_empty_columns, *([Text(enough)] if "plan_horizon" in swept else [])]),
        Section(
            "Curve",
            [Figure("curve", "Success over what is swept", partial(draw_figure, "figures:sweep_figure", record))],
        ),
        coverage_section({_point_words(point): point.coverage for point in record.points}),
    ]
    setting = describe_setting(metadata, f"{metadata.episodes_per_point} per point{_length_words(record)}", swept)
    title = f"{record.policy_name} in {metadata.env} over {', '.join(swept)}"
    return Document(title, sweep_answer(record), [Text(setting, True)], sections, stamp_words(record))


def sweep_answer(record: SweepRecord) -> str:
    """What a sweep comes to, in a sentence."""
    return f"{record.policy_name} in {record.metadata.env}: {_best_words(record)}{_enough_words(record)}."


def _best_words(record: SweepRecord) -> str:
    """Where success is highest, at one point or at several."""
    rates = {_point_words(point): point.scorecard.success_rate for point in record.points}
    known = [rate for rate in rates.values() if rate is not None]
    if not known:
        return "no criterion of success was given"
    best, episodes = max(known), count_words(record.metadata.episodes_per_point, "episode")
    places = [point for point, rate in rates.items() if rate == best]
    if best == 0:
        return f"none of {episodes} succeeds at {listed_words(places, LISTED)}"
    if len(places) == len(rates):
        return f"success is {best:.3f} of {episodes} at {listed_words(places, LISTED)}"
    return f"success is highest, {best:.3f} of {episodes}, at {listed_words(places, LISTED)}"


def _enough_words(record: SweepRecord) -> str:
    """The planning horizon H* with those that the data cannot rule out, where there is one."""
    enough = record.effective_horizon
    if enough.value is None:
        return ""
    is_open = enough.low is not None and enough.high is not None and enough.low < enough.high
    others = f" ({enough.low:.0f} to {enough.high:.0f} cannot be ruled out)" if is_open else ""
    rule = f"no longer one adds more than {record.metadata.epsilon:g}"
    return f"; a plan horizon of {enough.value:.0f} is enough{others}: {rule}"


def _point_words(point: SweepPointEntry) -> str:
    """Where a point stands, with keys."""
    swept = point.swept or {"plan_horizon": point.plan_horizon}
    return " ".join(f"{name}={label_text(value)}" for name, value in swept.items())


def _length_words(record: SweepRecord) -> str:
    """How long the episodes of every point may be; nothing where that is swept."""
    longest = record.metadata.episode_horizon
    swept = [one.swept.get("max_steps", one.swept.get("environment.max_steps")) for one in record.points]
    return "" if longest in swept else f", of at most {longest} steps"
