"""The figures of the ceiling bounce: the landscape, ESNR over the angles, and the ascents."""

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from wmel.diagnostics.ceiling_bounce.panel import REACHED, Panel, PanelReading
from wmel.reports.figure_style import BLUE, DASHES, FAINT, GREY, ORANGE, layout, lines_of

FINE = 400  # of the landscape's angles one is drawn
JUMP = 0.1  # metres from one angle to the next
BAND = (10, 90)  # percent of the seeds between the ends of a band


def landscape_figure(panel: Panel) -> go.Figure:
    """Distance over the angle, with a gap where it jumps, and its mean under noise; the contact is shaded."""
    land, figure = panel.landscape, _figure(panel, 380)
    there = (land.angles >= panel.angles[0]) & (land.angles <= panel.angles[-1])
    angles, distances, contact = land.angles[there], land.distances[there], land.contact[there]
    edges = np.flatnonzero(np.diff(contact.astype(int)))
    shown = np.unique(np.concatenate([np.arange(0, len(angles), FINE), edges, edges + 1, [len(angles) - 1]]))
    jumps = edges[abs(distances[edges + 1] - distances[edges]) > JUMP]
    breaks = np.searchsorted(shown, jumps + 1)
    x, y = np.insert(angles[shown], breaks, np.nan), np.insert(distances[shown], breaks, np.nan)
    smooth = land.smoothed_at(angles[shown])
    figure.add_scatter(x=_numbers(x), y=_numbers(y), mode="lines", name="distance", line={"color": BLUE, "width": 2})
    figure.add_scatter(
        x=_numbers(angles[shown]),
        y=_numbers(smooth),
        mode="lines",
        name=f"mean under noise of {land.sigma:g} rad",
        line={"color": ORANGE, "width": 2, "dash": "dash"},
    )
    figure.add_hline(land.best, line={"color": GREY, "width": 1, "dash": "dot"})
    figure.update_xaxes(title=_close("launch angle (rad)"))
    figure.update_yaxes(title="distance (m)")
    return _shade(figure, panel)


def ratios_figure(panel: Panel) -> go.Figure:
    """ESNR per rollout over the angle by each estimator, on a logarithmic axis."""
    figure, looks = _figure(panel, 460), _looks(panel)
    for one in panel.readings:
        positive_ratios = np.where(one.ratios > 0, one.ratios, np.nan)
        figure.add_scatter(
            x=_numbers(panel.angles),
            y=_numbers(positive_ratios),
            name=html.escape(one.name),
            mode="lines",
            **looks[one.name],
        )
    figure.update_xaxes(title=_close("launch angle (rad)"))
    figure.update_yaxes(title="ESNR per rollout", type="log", exponentformat="power")
    return _shade(figure, panel)


def all_ratios_figure(panels: Sequence[Panel]) -> go.Figure:
    """ESNR per rollout over the angle by each estimator at every launch speed, whose lines differ in their dashes."""
    figure, looks = go.Figure(layout=layout(460)), _looks(panels[0])
    for place, panel in enumerate(panels):
        for one in panel.readings:
            positive_ratios = np.where(one.ratios > 0, one.ratios, np.nan)
            line = {**looks[one.name]["line"], "dash": DASHES[place % len(DASHES)]}
            name = html.escape(f"{one.name}, {panel.speed:g} m/s")
            figure.add_scatter(
                x=_numbers(panel.angles), y=_numbers(positive_ratios), name=name, mode="lines", line=line
            )
    figure.update_xaxes(title=_close("launch angle (rad)"))
    figure.update_yaxes(title="ESNR per rollout", type="log", exponentformat="power")
    return figure


def ascents_figure(panel: Panel) -> go.Figure:
    """The mean over seeds of the height climbed, with a band of most seeds around it."""
    figure, looks = _figure(panel, 460), _looks(panel)
    for one in panel.readings:
        _climb(figure, one, looks[one.name])
    figure.add_hline(REACHED, line={"color": GREY, "width": 1, "dash": "dot"})
    figure.update_xaxes(title=_close("iteration of Adam"))
    figure.update_yaxes(title="height")
    return figure


def _figure(panel: Panel, height: int) -> go.Figure:
    """Empty, with its legend below: above it a narrow window would lay the title over it."""
    figure = go.Figure(layout=layout(height))
    title = {"text": f"launch at {panel.speed:g} m/s", "font": {"size": 15}}
    return figure.update_layout(title=title, margin_t=50, legend={"yref": "container", "yanchor": "bottom", "y": 0.01})


def _climb(figure: go.Figure, one: PanelReading, look: dict[str, Any]) -> None:
    iterations = list(range(len(one.heights)))
    low, high = np.percentile(one.heights, BAND, axis=1)
    figure.add_scatter(
        x=iterations + iterations[::-1],
        y=_numbers(np.concatenate([high, low[::-1]])),
        fill="toself",
        fillcolor=_make_faint(look["line"]["color"]),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        legendgroup=html.escape(one.name),
        showlegend=False,
    )
    figure.add_scatter(
        x=iterations,
        y=_numbers(one.heights.mean(axis=1)),
        name=html.escape(one.name),
        legendgroup=html.escape(one.name),
        mode="lines",
        **look,
    )


def _looks(panel: Panel) -> dict[str, dict[str, Any]]:
    """A line for each estimator."""
    lines = lines_of(one.name for one in panel.readings)
    return {name: {"line": look["line"]} for name, look in lines.items()}


def _shade(figure: go.Figure, panel: Panel) -> go.Figure:
    if panel.landscape.contact_interval is not None:
        low, high = panel.landscape.contact_interval
        figure.add_vrect(low, high, fillcolor=FAINT, line_width=0, layer="below")
    return figure


def _make_faint(colour: str) -> str:
    """A colour #rrggbb that lets what is behind it through."""
    parts = ", ".join(str(int(colour[start : start + 2], 16)) for start in (1, 3, 5))
    return f"rgba({parts}, 0.12)"


def _close(title: str) -> dict[str, Any]:
    """The title of an axis near to it, clear of the legend."""
    return {"text": title, "standoff": 8}


def _numbers(values: np.ndarray) -> list[float | None]:
    """Six digits of each, None where there is none: short, and plain JSON."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values]
