"""How figures look: colours everyone can tell apart, marks of verdicts, lines of arms, axes and their units."""

from collections.abc import Iterable
from typing import Any

from wmel.analysis.verdict import Label
from wmel.contract.cell import FLOOR, ORACLE

BLUE, ORANGE, TEAL, RED, MAGENTA = "#0077bb", "#e8702a", "#009988", "#cc3311", "#ee3377"  # after Paul Tol's "vibrant"
GREY, FAINT = "#777777", "rgba(128, 128, 128, 0.25)"
PALETTE = (BLUE, ORANGE, TEAL, MAGENTA, RED)
SYMBOLS = ("circle", "square", "triangle-up", "pentagon", "star", "hexagon")
DASHES = ("solid", "dash", "longdash", "dashdot")
MARKS: dict[str, tuple[str, str]] = {  # verdict -> colour and symbol
    Label.MODEL_BOTTLENECK: (RED, "triangle-right"),
    Label.LEARNED_OUTPERFORMS: (MAGENTA, "triangle-left"),
    Label.PLANNER_BOTTLENECK: (ORANGE, "square"),
    Label.AS_GOOD: (TEAL, "circle"),
    Label.EQUIVALENT: (BLUE, "diamond"),
    Label.EQUIVALENT_ONLY: (BLUE, "diamond-wide"),
    Label.INCONCLUSIVE: (GREY, "circle-open"),
    Label.INCONCLUSIVE_FUTILE: (GREY, "square-open"),
    Label.INCONCLUSIVE_ERRORS: (GREY, "x-thin-open"),
}
UNITS = {
    "plan_horizon": "steps",
    "max_steps": "steps",
    "execute": "actions",
    "candidates": "sequences",
    "epoch": "passes over the data",
    "epochs": "passes over the data",
    "transitions": "steps of training data",
    "perturbation_probability": "share of episodes",
}


def mark(verdict: str) -> dict[str, Any]:
    """The marker of a gap."""
    colour, symbol = MARKS.get(verdict, (GREY, "circle-open"))
    return {"color": colour, "symbol": symbol, "size": 10, "line": {"width": 2, "color": colour}}


def lines_of(models: Iterable[str]) -> dict[str, dict[str, Any]]:
    """A line for each model, and grey ones for the oracle and the floor."""
    lines = {}
    for place, model in enumerate(models):
        dash = DASHES[place // len(PALETTE) % len(DASHES)]
        lines[model] = _line(PALETTE[place % len(PALETTE)], SYMBOLS[place % len(SYMBOLS)], dash)
    return lines | {ORACLE: _line(GREY, "diamond", "solid"), FLOOR: _line(GREY, "x", "dot")}


def axis_title(label: str) -> str:
    """A swept label as the title of an axis."""
    words, unit = label.replace("_", " "), UNITS.get(label)
    return words if unit is None else f"{words} ({unit})"


def layout(height: int) -> dict[str, Any]:
    """Transparent, so that a page decides on light and dark."""
    return {
        "template": "none",
        "height": height,
        "margin": {"l": 10, "r": 20, "t": 60, "b": 60},
        "paper_bgcolor": "rgba(0, 0, 0, 0)",
        "plot_bgcolor": "rgba(0, 0, 0, 0)",
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": "#333333"},
        "hoverlabel": {"bgcolor": "#ffffff", "font": {"color": "#111111"}},
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0},
        "showlegend": True,
        "dragmode": False,
        "xaxis": axis(),
        "yaxis": axis(),
    }


def axis(**more: Any) -> dict[str, Any]:
    return {"automargin": True, "zeroline": False, "gridcolor": FAINT, "fixedrange": True, **more}


def _line(colour: str, symbol: str, dash: str) -> dict[str, Any]:
    marker = {"color": colour, "symbol": symbol, "size": 9}
    return {"mode": "lines+markers", "line": {"color": colour, "dash": dash, "width": 2}, "marker": marker}
