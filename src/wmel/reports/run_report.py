"""The reports of a run and of a sweep."""

from functools import partial
from typing import Any

from wmel.analysis.horizon import HorizonSweep
from wmel.analysis.scorecard import Scorecard, metric_data
from wmel.catalog import METRICS
from wmel.contract.cell import label_text
from wmel.reports.cells import (
    count_words,
    coverage_section,
    describe_setting,
    horizon_note,
    listed_words,
    metric_bounds,
    metric_cell,
    number,
    scorecard_table,
    stamp_words,
)
from wmel.reports.document import (
    Document,
    Figure,
    Section,
    Table,
    TableCell,
    TableColumn,
    Text,
    draw_figure,
)
from wmel.reports.record_types import RunRecord, SweepPointEntry, SweepRecord

ANSWERS = {  # metric -> the setting by which it is requested
    "success_rate": "success",
    "average_steps_to_success": "success",
    "pre_solved_rate": "success",
    "perturbation_recovery_rate": "perturbation",
    "perturbation_recovery_ratio": "perturbation",
}


def run_document(record: RunRecord, card: Scorecard) -> Document:
    """One line per metric; one that is undefined is left out where nothing requested it."""
    metadata = record.metadata
    requested = [*metadata.metrics, *(name for name, by in ANSWERS.items() if getattr(metadata, by) is not None)]
    requested += [name for name in card.estimates if metric_data(name)["name"] not in METRICS.built_in]  # of plugins
    shown = {name: one for name, one in card.estimates.items() if one.is_defined or name in requested}
    setting = describe_setting(metadata, f"{metadata.episodes} of at most {metadata.horizon} steps")
    sections = [
        Section("Scorecard", [scorecard_table(f"Scorecard of {metadata.policy}", shown)]),
        Section("Outcomes", [Figure("outcomes", "Every episode", partial(draw_figure, "figures:outcomes", record))]),
        coverage_section({metadata.policy: record.coverage}),
    ]
    title = f"{metadata.policy} in {metadata.env}"
    return Document(title, run_answer(record), [Text(setting, True)], sections, stamp_words(record))


def run_answer(record: RunRecord) -> str:
    """What a run comes to, in a sentence."""
    metadata, estimates = record.metadata, record.scorecard.estimates
    success, back = estimates["success_rate"], estimates["average_return"]
    what = f"{metadata.policy}{'' if metadata.model is None else f' on {metadata.model}'} in {metadata.env}"
    episodes, errors = count_words(metadata.episodes, "episode"), sum(row.error is not None for row in record.results)
    broke = f"; {count_words(errors, 'episode')} broke" if errors else ""
    if success.value is not None:
        rate = f"{success.value:.3f} [{success.low:.3f}, {success.high:.3f}]"
        return f"{what} succeeds in {rate} of {episodes}{f'{broke}, which is no success' if errors else ''}."
    if back.value is not None:
        mean = f"{_return_words(back.value)} on average over {count_words(back.n, 'episode')}"
        return f"{what} returns {mean}; no criterion of success was given{broke}."
    return f"{what} ran {episodes}; success: {success.reason}{broke}."


def _return_words(value: float) -> str:
    """One digit, or three of a small number."""
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


LISTED = 4  # more points than this are counted, not named


def sweep_document(record: SweepRecord, sweep: HorizonSweep) -> Document:
    """The whole report."""
    metadata, swept = record.metadata, list(_swept_of(record.points[0]))
    columns = (
        *(TableColumn(name, False) for name in swept),
        *map(TableColumn, ("success", "95% interval", "steps", "latency_ms", "95% interval (ms)", "compute/decision")),
        *map(TableColumn, metadata.metrics),
    )
    rows = tuple(
        (
            *(TableCell(label_text(at)) for at in _swept_of(point).values()),
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
    over = ", ".join(swept) or "metrics"
    table = Table(f"{record.policy_name} over {over}", columns, rows, names=len(swept))
    enough = f"effective horizon H* = {number(sweep.effective_horizon, 0)} ({horizon_note(sweep)})"
    is_compared = "plan_horizon" in swept and not _sweeps_metrics_alone(record)
    sections = [
        Section("Points", [table.without_empty_columns, *([Text(enough)] if is_compared else [])]),
        Section(
            "Curve",
            [Figure("curve", "Success over what is swept", partial(draw_figure, "figures:sweep_figure", record))],
        ),
        coverage_section({_point_words(point) or record.policy_name: point.coverage for point in record.points}),
    ]
    setting = describe_setting(metadata, f"{metadata.episodes_per_point} per point{_length_words(record)}", swept)
    title = f"{record.policy_name} in {metadata.env} over {over}"
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
    at = f" at {listed_words(places, LISTED)}" if any(places) else ""
    if best == 0:
        return f"none of {episodes} succeeds{at}"
    if len(places) == len(rates):
        return f"success is {best:.3f} of {episodes}{at}"
    return f"success is highest, {best:.3f} of {episodes},{at}"


def _enough_words(record: SweepRecord) -> str:
    """The planning horizon H* with those that the data cannot rule out, where there is one."""
    enough = record.effective_horizon
    if enough.value is None or _sweeps_metrics_alone(record):
        return ""
    is_open = enough.low is not None and enough.high is not None and enough.low < enough.high
    others = f", between {enough.low:.0f} and {enough.high:.0f} at 95% confidence" if is_open else ""
    rule = f"longer plans succeed in at most {record.metadata.epsilon:g} more of the episodes"
    return f"; a plan horizon of {enough.value:.0f} is enough{others}: {rule}"


def _point_words(point: SweepPointEntry) -> str:
    """Where a point stands, with keys."""
    return " ".join(f"{name}={label_text(value)}" for name, value in _swept_of(point).items())


def _sweeps_metrics_alone(record: SweepRecord) -> bool:
    """Whether there is one point, at which nothing is swept. Old records have several, and name no horizon as swept."""
    return len(record.points) == 1 and not record.points[0].swept


def _swept_of(point: SweepPointEntry) -> dict[str, Any]:
    """What is swept, or else the planning horizon; nothing where there is none, and metrics alone are swept."""
    return dict(point.swept) or ({} if point.plan_horizon is None else {"plan_horizon": point.plan_horizon})


def _length_words(record: SweepRecord) -> str:
    """How long the episodes of every point may be; nothing where that is swept."""
    longest = record.metadata.episode_horizon
    swept = [one.swept.get("max_steps", one.swept.get("environment.max_steps")) for one in record.points]
    return "" if longest in swept else f", of at most {longest} steps"
