"""Small drawings of a result that need no script: its intervals, its curves, or what holds and what does not."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from wmel.stats.estimate import Estimate

LEFT, WIDE = 260, 380  # pixels before the axis, and along it
HIGH = 160
FAR = 100  # positive numbers that lie so many times apart have a logarithmic axis
ROOM = 45  # pixels of the number at an end of the axis
COLOURS = ("#0077bb", "#e8702a", "#009988", "#ee3377", "#cc3311")


@dataclass(frozen=True)
class Curves:
    """Lines by name, each a sequence of (x, y), and the titles of the axes."""

    lines: Mapping[str, Sequence[tuple[float, float]]]
    x: str
    y: str


@dataclass(frozen=True)
class Intervals:
    """Estimates by name, and the title of their axis; one without an interval is a point."""

    rows: Mapping[str, Estimate]
    title: str


def drawing(rows: Sequence[Mapping[str, Any]], intervals: Intervals | None, curves: Curves | None) -> str:
    """The intervals of a result, or of its rows; else its curves; else which of its rows hold."""
    drawing = _intervals_svg(_row_intervals(rows) if intervals is None else _named_intervals(intervals))
    return drawing or ("" if curves is None else curves_svg(curves)) or _truths_svg(rows)


def _row_intervals(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, float, float, float]]:
    """The value of a row is what stands before its `low`; words before it name the row."""
    return _with_ends([_interval(row) for row in rows if {"low", "high"} <= row.keys()])


def _named_intervals(intervals: Intervals) -> list[tuple[str, float, float, float]]:
    return _with_ends([(name, one.value, one.low, one.high) for name, one in intervals.rows.items()])


def _with_ends(found: Sequence[tuple[str, Any, Any, Any]]) -> list[tuple[str, float, float, float]]:
    """Values with their intervals; a value without one is a point."""
    return [
        (name, value, value if low is None else low, value if high is None else high)
        for name, value, low, high in found
        if value is not None
    ]


def _intervals_svg(found: Sequence[tuple[str, float, float, float]]) -> str:
    if not found:
        return ""
    low, high = min(one[2] for one in found), max(one[3] for one in found)
    is_log = low > 0 and high / low >= FAR

    def across(value: float) -> float:
        if is_log:
            return LEFT + WIDE * math.log(value / low) / math.log(high / low)
        return LEFT + WIDE * (value - low) / ((high - low) or 1.0)

    foot = 24 + 22 * len(found)
    marks = _zero(across(0), foot) if low < 0 < high else []
    for place, (name, value, left, right) in enumerate(found):
        y = 20 + 22 * place
        marks.append(f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end" font-size="12">{escape(name[:40])}</text>')
        marks.append(f'<line x1="{across(left):.1f}" x2="{across(right):.1f}" y1="{y}" y2="{y}" stroke="#777"/>')
        marks.append(f'<circle cx="{across(value):.1f}" cy="{y}" r="4" fill="{COLOURS[0]}"/>')
    scale = [f'<text x="{LEFT + WIDE / 2}" y="{foot}" text-anchor="middle" font-size="11">log</text>'] if is_log else []
    return _svg([*marks, *_ends(low, high, foot), *scale], foot + 8)


def _zero(x: float, foot: int) -> list[str]:
    """A line at 0, named where there is room between the ends of the axis."""
    line = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="8" y2="{foot - 12}" stroke="#bbb" stroke-dasharray="3"/>'
    has_room = LEFT + ROOM < x < LEFT + WIDE - ROOM
    return [line, *([f'<text x="{x:.1f}" y="{foot}" text-anchor="middle" font-size="11">0</text>'] if has_room else [])]


def curves_svg(curves: Curves) -> str:
    """Every curve as a line."""
    points = [point for line in curves.lines.values() for point in line]
    if not points:
        return ""
    (left, right), (low, high) = ((min(axis), max(axis)) for axis in zip(*points, strict=True))
    marks = []
    for place, (name, line) in enumerate(curves.lines.items()):
        colour = COLOURS[place % len(COLOURS)]
        path = " ".join(
            f"{LEFT + WIDE * (x - left) / ((right - left) or 1):.1f},{10 + HIGH * (high - y) / ((high - low) or 1):.1f}"
            for x, y in line
        )
        marks.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        marks.append(f'<text x="10" y="{20 + 18 * place}" font-size="12" fill="{colour}">{escape(name[:30])}</text>')
    for value, y in ((high, 16), (low, HIGH + 10)):
        marks.append(f'<text x="{LEFT - 10}" y="{y}" text-anchor="end" font-size="11">{value:.3g}</text>')
    foot = max(HIGH + 26, 26 + 18 * len(curves.lines))
    at = f'x="{LEFT + WIDE / 2}" y="{HIGH + 26}"'
    middle = f'<text {at} text-anchor="middle" font-size="11">{escape(curves.x)}</text>'
    return _svg([*marks, *_ends(left, right, HIGH + 26), middle], foot + 8)


def _truths_svg(rows: Sequence[Mapping[str, Any]]) -> str:
    """A mark for each row by its first truth value; nothing where there is none."""
    if not rows:
        return ""
    names = list(rows[0])
    column = next((name for name in names if isinstance(rows[0][name], bool)), None)
    if column is None:
        return ""
    marks = []
    for place, row in enumerate(rows):
        y, colour = 20 + 22 * place, COLOURS[2] if row[column] else COLOURS[4]
        words = escape(str(row[names[0]])[:90])
        marks.append(f'<rect x="10" y="{y - 8}" width="12" height="12" fill="{colour}"/>')
        marks.append(f'<text x="30" y="{y + 3}" font-size="12">{words}</text>')
    return _svg(marks, 24 + 22 * len(rows))


def _ends(low: float, high: float, y: int) -> list[str]:
    return [
        f'<text x="{LEFT}" y="{y}" font-size="11">{low:.3g}</text>',
        f'<text x="{LEFT + WIDE}" y="{y}" text-anchor="end" font-size="11">{high:.3g}</text>',
    ]


def _svg(marks: Sequence[str], height: int) -> str:
    size = f'width="{LEFT + WIDE + 20}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(marks)}</svg>'


def _interval(row: Mapping[str, Any]) -> tuple[str, Any, Any, Any]:
    """The name, value and ends of a row."""
    names = list(row)
    key = names[names.index("low") - 1]
    words = [str(row[name]) for name in names[: names.index("low") - 1] if not isinstance(row[name], float)]
    return " ".join(words), row[key], row["low"], row["high"]
