"""The figures of a study, drawn with Plotly: every gap as a forest, and curves over what was swept."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from wmel.contract.cell import ORACLE, label_value
from wmel.reports.analysis_record_types import CheckRecord, ComparisonRecord, StudyRecord
from wmel.reports.figure_style import FAINT, GREY, RED, TEAL, axis, axis_title, layout, lines_of, mark
from wmel.reports.small_svg import Curves, Intervals
from wmel.reports.study_curves import Curve, Point, axis_places, axis_values, study_curves
from wmel.reports.study_gaps import StudyGap, equivalence_margin, study_gaps
from wmel.reports.study_readings import ReadingCurve, reading_curves

ROW, LONGEST = 26, 60  # pixels of a row, characters of its name
RATES = ("success_rate", "perturbation_recovery_rate", "pre_solved_rate", "error_rate")  # shares of episodes
WIDE = 30  # values whose ends are this many times apart are drawn on a logarithmic axis


def forest(record: StudyRecord) -> go.Figure:
    """One row per gap, with its interval, marked by its verdict; the shaded band counts as no gap."""
    gaps = study_gaps(record)
    figure = go.Figure(layout=layout(150 + ROW * max(len(gaps), 2)))
    for verdict in dict.fromkeys(gap.entry.verdict for gap in gaps):
        rows = [row for row, gap in enumerate(gaps) if gap.entry.verdict == verdict]
        points = [_point(gaps[row], row) for row in rows]
        figure.add_scatter(
            x=[point.value for point in points],
            y=rows,
            error_x=_bars(points),
            mode="markers",
            name=html.escape(verdict),
            marker=mark(verdict),
            hovertext=[_hover_text(gaps[row], point) for row, point in zip(rows, points, strict=True)],
            hoverinfo="text",
        )
    delta = equivalence_margin(record)
    if delta is not None:
        figure.add_vrect(-delta, delta, fillcolor=FAINT, line_width=0, layer="below")
    figure.add_vline(0, line={"color": GREY, "width": 1.5})
    names = [html.escape(_short(gap.name)) for gap in gaps]
    ends = [end for gap in gaps for end in (gap.entry.gap_ci_low, gap.entry.gap_ci_high)]
    reach = [max(min([*ends, -0.2]), -1) - 0.05, min(max([*ends, 0.2]), 1) + 0.05]
    figure.update_xaxes(title="gap: oracle's success less the model's (share of episodes)", range=reach)
    figure.update_yaxes(tickvals=list(range(len(gaps))), ticktext=names, range=[max(len(gaps), 2) - 0.4, -0.6])
    return figure


def curves(record: StudyRecord) -> list[go.Figure]:
    """For every setting the study swept: success of each arm above, the gap of each model below."""
    every_curve = study_curves(record)
    lines = lines_of(dict.fromkeys(model for curve in every_curve for model in (*curve.gap, *curve.success)))
    return [_curve(curve, lines) for curve in every_curve]


def _curve(curve: Curve, lines: Mapping[str, dict[str, Any]]) -> go.Figure:
    has_gap = any(curve.gap.values())
    figure = go.Figure(layout=layout(640 if has_gap else 400))
    for arm, points in curve.success.items():
        _draw(figure, arm, points, yaxis="y", **lines[arm])
    for model, points in curve.gap.items():
        _draw(figure, model, points, yaxis="y2", showlegend=model not in curve.success, **lines[model])
    _swept_axis(figure, curve.label, curve.values, curve.where)
    figure.update_layout(
        xaxis={"anchor": "y2" if has_gap else "y"},
        yaxis=axis(
            title="success<br>(share of episodes)", range=[-0.05, 1.05], domain=[0.54, 1] if has_gap else [0, 1]
        ),
    )
    if has_gap:
        figure.update_layout(yaxis2=axis(title="gap to the oracle<br>(share of episodes)", domain=[0, 0.46]))
        figure.add_hline(0, line={"color": GREY, "width": 1.5}, yref="y2")
    return figure


def reading_figures(record: StudyRecord) -> list[go.Figure]:
    """For every setting that was swept under a diagnostic: what it found, by model."""
    every_curve = reading_curves(record)
    lines = lines_of(dict.fromkeys(line for curve in every_curve for line in curve.lines if line != ORACLE))
    return [_reading_figure(curve, lines) for curve in every_curve]


def _reading_figure(curve: ReadingCurve, lines: Mapping[str, dict[str, Any]]) -> go.Figure:
    figure = go.Figure(layout=layout(400))
    for line, points in curve.lines.items():
        _draw(figure, line, points, **lines[line])
    _swept_axis(figure, curve.label, curve.values, curve.where)
    figure.update_yaxes(title=html.escape(axis_title(curve.measure)))
    return figure


def _swept_axis(figure: go.Figure, label: str, values: Sequence[Any], where: str = "") -> None:
    """The axis of what was swept, and what was not as the title."""
    is_words = any(isinstance(value, str) for value in values)
    spread = not is_words and values[0] > 0 and values[-1] / values[0] >= WIDE
    kind = "category" if is_words else "log" if spread else "linear"
    figure.update_xaxes(title=html.escape(axis_title(label)), type=kind)
    if is_words:
        names = [html.escape(_short(value)) for value in values]
        figure.update_xaxes(categoryorder="array", categoryarray=values, tickvals=values, ticktext=names)
    elif len(values) <= 12:
        figure.update_xaxes(tickvals=values, ticktext=[f"{value:g}" for value in values])
    if where:
        title = {"text": html.escape(_short(where, 90)), "font": {"size": 15}, "y": 0.98, "yanchor": "top"}
        figure.update_layout(title=title, margin={"t": 90})


def _draw(figure: go.Figure, name: str, points: Sequence[Point], **look: Any) -> None:
    """A line through numbers; words on the axis are points alone."""
    if any(isinstance(point.at, str) for point in points):
        look = {**look, "mode": "markers"}
    hover_lines = [
        f"{name} at {_place(point)}: {point.value:.3g} [{point.low:.3g}, {point.high:.3g}]" for point in points
    ]
    figure.add_scatter(
        x=[point.at for point in points],
        y=[point.value for point in points],
        error_y=_bars(points),
        name=html.escape(_short(name)),
        legendgroup=html.escape(name),
        hovertext=[html.escape(words) for words in hover_lines],
        hoverinfo="text",
        **look,
    )


def _place(point: Point) -> str:
    return point.at if isinstance(point.at, str) else f"{point.at:g}"


def _bars(points: Sequence[Point]) -> dict[str, Any]:
    above = [max(point.high - point.value, 0) for point in points]
    below = [max(point.value - point.low, 0) for point in points]
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "thickness": 2, "width": 4}


def _point(gap: StudyGap, row: int) -> Point:
    return Point(row, gap.entry.gap, max(gap.entry.gap_ci_low, -1), min(gap.entry.gap_ci_high, 1))


def _hover_text(gap: StudyGap, point: Point) -> str:
    interval = f"{point.value:+.3f} [{point.low:+.3f}, {point.high:+.3f}] ({gap.entry.gap_method})"
    return "<br>".join(map(html.escape, (gap.place, gap.title, interval, gap.entry.verdict)))


def _short(name: str, longest: int = LONGEST) -> str:
    """Both ends of a long name."""
    half = longest // 2
    return name if len(name) <= longest else f"{name[:half]}…{name[1 - half :]}"


def outcomes(record: Any) -> go.Figure:
    """The rates of a run with their intervals."""
    rates = {name: one for name, one in record.scorecard.estimates.items() if one.low is not None and name in RATES}
    return _intervals(rates, "share, with 95% interval", [-0.02, 1.02])


def differences_figure(record: ComparisonRecord) -> go.Figure:
    """The difference of success of every task of two runs, B minus A."""
    found = {one.task: one.success_delta for one in record.tasks if one.success_delta.low is not None}
    figure = _intervals(found, "success of B minus that of A (share of episodes), with 95% interval", [-1.05, 1.05])
    return figure.add_vline(0, line={"color": GREY, "width": 1.5})


def promises_figure(record: CheckRecord) -> go.Figure:
    """Every promise of a part as a bar: kept or broken."""
    figure = go.Figure(layout=layout(150 + ROW * max(len(record.findings), 2)))
    for name, colour, kept in (("kept", TEAL, True), ("broken", RED, False)):
        findings = [one for one in record.findings if (not one.problem) is kept]
        figure.add_bar(
            x=[1] * len(findings), y=[html.escape(_short(one.promise)) for one in findings], orientation="h", name=name,
            marker_color=colour, hovertext=[html.escape(one.problem or one.note) for one in findings],
        )  # fmt: skip
    figure.update_xaxes(visible=False)
    figure.update_yaxes(autorange="reversed")
    return figure


def curves_figure(curves: Curves) -> go.Figure:
    """Lines over an axis; a logarithmic one where the heights of positive lines are far apart."""
    figure, looks = go.Figure(layout=layout(400)), lines_of(curves.lines)
    for name, line in curves.lines.items():
        x, y = ([float(one) for one in axis] for axis in zip(*line, strict=True))
        figure.add_scatter(x=x, y=y, name=html.escape(name), mode="lines", line=looks[name]["line"])
    heights = [y for line in curves.lines.values() for _, y in line]
    spread = min(heights) > 0 and max(heights) / min(heights) >= WIDE
    figure.update_xaxes(title=html.escape(curves.x))
    figure.update_yaxes(title=html.escape(curves.y), type="log" if spread else "linear")
    return figure


def intervals_figure(intervals: Intervals) -> go.Figure:
    """Estimates by name, on an axis as long as they need."""
    return _intervals(intervals.rows, html.escape(axis_title(intervals.title)), None)


def _intervals(rows: Mapping[str, Any], title: str, reach: list[float] | None) -> go.Figure:
    """Estimates by name, each with its interval where it has one."""
    figure = go.Figure(layout=layout(150 + ROW * max(len(rows), 2)))
    points = [
        Point(place, one.value, *(one.value if end is None else end for end in (one.low, one.high)))
        for place, one in enumerate(rows.values())
    ]
    figure.add_scatter(
        x=[point.value for point in points], y=list(range(len(points))), error_x=_bars(points), mode="markers",
        marker={"size": 10, "color": GREY}, showlegend=False,
    )  # fmt: skip
    figure.update_xaxes(title=title, range=reach)
    names = [html.escape(_short(name)) for name in rows]
    figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=names, autorange="reversed")
    return figure


def sweep_figure(record: Any) -> go.Figure:
    """Success over what a sweep swept first, a line for each value of the others."""
    label, *_ = [*record.points[0].swept, "plan_horizon"]
    places = axis_places([one.swept.get(label, one.plan_horizon) for one in record.points])
    lines: dict[str, list[Point]] = {}
    for at, one in zip(places, record.points, strict=True):
        others = [f"{name}={label_value(value)}" for name, value in one.swept.items() if name != label]
        value, (low, high) = one.scorecard.success_rate, one.success_ci
        if value is not None:
            lines.setdefault(", ".join(others) or record.policy_name, []).append(Point(at, value, low, high))
    figure, looks = go.Figure(layout=layout(400)), lines_of(lines)
    for line, points in lines.items():
        _draw(figure, line, points, **looks[line])
    _swept_axis(figure, label, axis_values(places))
    figure.update_yaxes(title="success (share of episodes)", range=[-0.05, 1.05])
    return figure


def arms_figure(record: Any) -> go.Figure:
    """Success of every arm of a comparison with its interval."""
    cards = {name: card.estimates["success_rate"] for name, card in record.scorecards.items()}
    defined = {name: one for name, one in cards.items() if one.value is not None}
    return _intervals(defined, "success (share of episodes), with 95% interval", [-0.02, 1.02])
