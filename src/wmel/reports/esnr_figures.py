"""Figures of ESNR, by plotly: one reading, and readings over training."""

import html
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from wmel.contract.cell import ORACLE
from wmel.diagnostics.esnr.over_training import CurveShape, u_shape
from wmel.reports.analysis_record_types import EsnrEntry, EsnrRecord
from wmel.reports.esnr_record import TrainingReadings
from wmel.reports.figure_style import GREY, SYMBOLS, layout, lines_of
from wmel.reports.record_types import EstimateEntry

ROW = 30  # pixels


class Row(NamedTuple):
    """A number with its interval, and where it is drawn."""

    row: int
    method: str
    value: float
    low: float
    high: float


def ratios(record: EsnrRecord) -> go.Figure:
    """ESNR per imagined rollout with its interval, one row per model and estimator; a logarithmic axis."""
    figure = _rows(record, lambda one: one.esnr_per_rollout, positive=True)
    figure.update_xaxes(title="ESNR per imagined rollout (logarithmic; what is not above 0 is not drawn)", type="log")
    return figure


def alignments(record: EsnrRecord) -> go.Figure:
    """Cosine of the mean gradients with the true ones, with its interval."""
    figure = _rows(record, lambda one: None if one.alignment is None else one.alignment.cosine, positive=False)
    figure.add_vline(0, line={"color": GREY, "width": 1.5})
    figure.update_xaxes(title="cosine with the true gradient (left of 0: against it)", range=[-1.05, 1.05])
    return figure


def states(record: EsnrRecord) -> go.Figure:
    """ESNR against cosine, a mark per state."""
    figure = go.Figure(layout=layout(460))
    lines = lines_of(dict.fromkeys(one.model for one in record.readings if one.model != "oracle"))
    methods = list(dict.fromkeys(one.method for one in record.readings))
    for one in record.readings:
        pairs = zip(one.per_state, one.cosine_per_state or [], record.states, strict=False)
        shown = [point for point in pairs if point[0] is not None and point[0] > 0 and point[1] is not None]
        if not shown or one.method == "fog(fd)":
            continue
        look = lines[one.model]["marker"] | {"symbol": SYMBOLS[methods.index(one.method) % len(SYMBOLS)], "size": 7}
        figure.add_scatter(
            x=[ratio for ratio, _, _ in shown],
            y=[cosine for _, cosine, _ in shown],
            mode="markers",
            name=html.escape(f"{one.model} · {one.method}"),
            marker=look,
            hovertext=[f"episode {place.episode_seed}, step {place.step}" for _, _, place in shown],
        )
    figure.update_xaxes(title="ESNR of the state (logarithmic; estimators are not comparable)", type="log")
    figure.update_yaxes(title="cosine with the true gradient", range=[-1.05, 1.05])
    figure.add_hline(0, line={"color": GREY, "width": 1.5})
    return figure


def _rows(record: EsnrRecord, number: Callable[[EsnrEntry], EstimateEntry | None], *, positive: bool) -> go.Figure:
    """A row per reading, coloured by model; bounds not above 0 are cut off where only positive ones can be drawn."""
    figure = go.Figure(layout=layout(140 + ROW * max(len(record.readings), 2)))
    lines = lines_of(dict.fromkeys(one.model for one in record.readings if one.model != "oracle"))
    for model in dict.fromkeys(one.model for one in record.readings):
        points = [
            Row(row, one.method, estimate.value, *_ends(estimate, positive))
            for row, one in enumerate(record.readings)
            if one.model == model
            and (estimate := number(one)) is not None
            and estimate.value is not None
            and (estimate.value > 0 or not positive)
        ]
        figure.add_scatter(
            x=[point.value for point in points],
            y=[point.row for point in points],
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [point.high - point.value for point in points],
                "arrayminus": [point.value - point.low for point in points],
            },
            mode="markers",
            name=html.escape(model),
            marker=lines[model]["marker"],
            hovertext=[html.escape(f"{model} by {point.method}: {point.value:.3g}") for point in points],
            hoverinfo="text",
        )
    names = [html.escape(f"{one.model} · {one.method}") for one in record.readings]
    figure.update_yaxes(tickvals=list(range(len(names))), ticktext=names, range=[max(len(names), 2) - 0.4, -0.6])
    return figure


def _ends(estimate: EstimateEntry, positive: bool) -> tuple[float, float]:
    """The interval as far as it can be drawn."""
    assert estimate.value is not None
    low = estimate.value if estimate.low is None else estimate.low
    high = estimate.value if estimate.high is None else estimate.high
    return (max(low, estimate.value / 1e3) if positive else low), high


UPDATES = "updates (logarithmic)"


class TrainingPoint(NamedTuple):
    """A number with its interval at a checkpoint."""

    updates: float
    value: float
    low: float
    high: float


def ratios_figure(trainings: Sequence[TrainingReadings], method: str) -> go.Figure:
    """ESNR over updates on logarithmic axes with its intervals, a line per run; dotted: where a U-shape is lowest."""
    figure, lines = _figure(trainings)
    for one in trainings:
        entries = [entry.esnr for entry in one.entries(method)]
        _line(figure, one.name, _points(one, entries, True), lines[one.name])
        _at_most(figure, one, entries, lines[one.name])
        found = u_shape(one.curve(method))
        if found.shape is CurveShape.U and found.minimum:
            figure.add_vline(found.minimum, line={"color": lines[one.name]["line"]["color"], "width": 1, "dash": "dot"})
    for place, one in enumerate(trainings):
        truths = [entry.esnr for entry in one.truths(method)]
        _line(figure, ORACLE, _points(one, truths, True), {**lines[ORACLE], "showlegend": place == 0, "opacity": 0.5})
    figure.update_yaxes(title=f"ESNR by {method} (logarithmic)", type="log", exponentformat="power")
    return figure


def alignments_figure(trainings: Sequence[TrainingReadings], method: str) -> go.Figure:
    """Cosine of the mean gradients with the true ones over updates, with its intervals."""
    figure, lines = _figure(trainings, height=340)
    for one in trainings:
        found = [entry.alignment for entry in one.entries(method)]
        cosines = [None if entry is None else entry.cosine for entry in found]
        _line(figure, one.name, _points(one, cosines, False), lines[one.name])
    figure.add_hline(0, line={"color": GREY, "width": 1.5})
    figure.update_yaxes(title=f"alignment by {method}", range=[-1.05, 1.05])
    return figure


def column_figure(trainings: Sequence[TrainingReadings], column: str) -> go.Figure:
    """A number from elsewhere over updates."""
    figure, lines = _figure(trainings, height=340)
    for one in trainings:
        known = [TrainingPoint(x, y, y, y) for x, y in sorted(one.beside.get(column, {}).items())]
        _line(figure, one.name, known, lines[one.name])
    figure.update_yaxes(title=html.escape(column))
    return figure


def scatter_figure(trainings: Sequence[TrainingReadings], column: str, method: str) -> go.Figure:
    """Every checkpoint: a number from elsewhere against ESNR."""
    figure, lines = _figure(trainings)
    for one in trainings:
        points = zip(one.updates, one.curve(method).esnr, one.column(column), strict=True)
        shown = [point for point in points if point[1] > 0 and np.isfinite(point[2])]
        figure.add_scatter(
            x=[float(ratio) for _, ratio, _ in shown],
            y=[float(number) for _, _, number in shown],
            mode="markers",
            name=html.escape(one.name),
            marker=lines[one.name]["marker"],
            hovertext=[f"{updates:.0f} updates" for updates, _, _ in shown],
        )
    figure.update_xaxes(title=f"ESNR by {method} (logarithmic)", type="log")
    figure.update_yaxes(title=html.escape(column))
    return figure


def _figure(trainings: Sequence[TrainingReadings], height: int = 420) -> tuple[go.Figure, dict[str, dict[str, Any]]]:
    figure = go.Figure(layout=layout(height))
    figure.update_xaxes(title=UPDATES, type="log")
    return figure, lines_of(one.name for one in trainings)


def _points(one: TrainingReadings, estimates: Sequence[EstimateEntry | None], positive: bool) -> list[TrainingPoint]:
    """What can be drawn; on a logarithmic axis what is above 0, and intervals as far as that."""
    points = []
    for updates, entry in zip(one.updates, estimates, strict=False):
        if entry is None or entry.value is None or (positive and entry.value <= 0):
            continue
        low = entry.value if entry.low is None else entry.low
        high = entry.value if entry.high is None else entry.high
        points.append(
            TrainingPoint(float(updates), entry.value, max(low, entry.value / 1e3) if positive else low, high)
        )
    return points


def _at_most(
    figure: go.Figure, one: TrainingReadings, estimates: Sequence[EstimateEntry], look: dict[str, Any]
) -> None:
    """Readings not above 0, at the upper end of their intervals."""
    shown = [
        (float(updates), entry.high)
        for updates, entry in zip(one.updates, estimates, strict=True)
        if updates > 0 and entry.value is not None and entry.value <= 0 and entry.high is not None and entry.high > 0
    ]
    if shown:
        figure.add_scatter(
            x=[updates for updates, _ in shown],
            y=[high for _, high in shown],
            mode="markers",
            name=html.escape(f"{one.name}: at most"),
            legendgroup=html.escape(one.name),
            marker={"color": look["marker"]["color"], "symbol": "triangle-down-open", "size": 9},
        )


def _line(figure: go.Figure, name: str, points: Sequence[TrainingPoint], look: dict[str, Any]) -> None:
    shown = [point for point in points if point.updates > 0]
    if not shown:
        return
    ends = {
        "type": "data",
        "symmetric": False,
        "thickness": 1,
        "array": [point.high - point.value for point in shown],
        "arrayminus": [point.value - point.low for point in shown],
    }
    figure.add_scatter(
        x=[point.updates for point in shown],
        y=[point.value for point in shown],
        error_y=ends,
        name=html.escape(name),
        legendgroup=html.escape(name),
        **look,
    )
