"""Small drawings of a result that need no script: its intervals, or its curves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

LEFT, WIDE = 260, 380  # pixels before the axis, and along it
HIGH = 160
COLOURS = ("#0077bb", "#e8702a", "#009988", "#ee3377", "#cc3311")


@dataclass(frozen=True)
class Curves:
    """Lines by name, each a sequence of (x, y), and the titles of the axes."""

    lines: Mapping[str, Sequence[tuple[float, float]]]
    x: str
    y: str


def intervals_svg(rows: Sequence[Mapping[str, Any]]) -> str:
    """The intervals of a summary: nothing where there are none.

    The value of a row is what stands before its `low`; words before it name the row.
    """
    found = [_interval(row) for row in rows if row.get("low") is not None and row.get("high") is not None]
    if not found:
        return ""
    low, high = min(one[2] for one in found), max(one[3] for one in found)
    span = (high - low) or 1.0

    def across(value: float) -> float:
        return LEFT + WIDE * (value - low) / span

    marks = []
    for place, (name, value, left, right) in enumerate(found):
        y = 20 + 22 * place
        marks.append(f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end" font-size="12">{escape(name[:40])}</text>')
        marks.append(f'<line x1="{across(left):.1f}" x2="{across(right):.1f}" y1="{y}" y2="{y}" stroke="#777"/>')
        marks.append(f'<circle cx="{across(value):.1f}" cy="{y}" r="4" fill="{COLOURS[0]}"/>')
    foot = 24 + 22 * len(found)
    return _svg([*marks, *_ends(low, high, foot)], foot + 8)


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


def _ends(low: float, high: float, y: int) -> list[str]:
    return [
        f'<text x="{LEFT}" y="{y}" font-size="11">{low:.3g}</text>',
        f'<text x="{LEFT + WIDE}" y="{y}" text-anchor="end" font-size="11">{high:.3g}</text>',
    ]


def _svg(marks: Sequence[str], height: int) -> str:
    size = f'width="{LEFT + WIDE + 20}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(marks)}</svg>'


def _interval(row: Mapping[str, Any]) -> tuple[str, float, float, float]:
    """The name, value and ends of a row."""
    names = list(row)
    key = names[names.index("low") - 1]
    words = [str(row[name]) for name in names[: names.index("low") - 1] if not isinstance(row[name], float)]
    return " ".join(words), row[key], row["low"], row["high"]
