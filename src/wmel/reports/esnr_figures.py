"""The figures of ESNR readings: signal per rollout, alignment, and both state by state."""

import html
from collections.abc import Callable
from typing import NamedTuple

import plotly.graph_objects as go

from wmel.reports.esnr_envelope import EsnrEntry, EsnrRecord
from wmel.reports.figure_style import GREY, SYMBOLS, layout, lines_of
from wmel.reports.json_envelope import EstimateEntry

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
        drawn = [point for point in pairs if point[0] is not None and point[0] > 0 and point[1] is not None]
        if not drawn or one.method == "fog(fd)":
            continue
        look = lines[one.model]["marker"] | {"symbol": SYMBOLS[methods.index(one.method) % len(SYMBOLS)], "size": 7}
        figure.add_scatter(
            x=[ratio for ratio, _, _ in drawn],
            y=[cosine for _, cosine, _ in drawn],
            mode="markers",
            name=html.escape(f"{one.model} · {one.method}"),
            marker=look,
            hovertext=[f"episode {place.episode_seed}, step {place.step}" for _, _, place in drawn],
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
