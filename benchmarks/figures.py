"""The curves of docs/figures, from committed results alone: how TD-MPC2 learned, and ESNR over training."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wmel.reports.esnr_record import TrainingReadings

ROOT = Path(__file__).parents[1]
MODELS, FIGURES = ROOT / "models", ROOT / "docs/figures"
WIDTH, HEIGHT, LEFT, TOP, BELOW = 360, 190, 58, 26, 38
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
Curve = list[tuple[float, float]]


@dataclass(frozen=True)
class Panel:
    """Curves by name in one frame."""

    title: str
    across: str
    curves: dict[str, Curve]
    logarithmic: tuple[bool, bool] = (False, False)  # across, up
    legend: bool = False

    def values(self, axis: int) -> list[float]:
        return [point[axis] for curve in self.curves.values() for point in curve]

    def bars(self, column: int, row: int, heights: list[float]) -> str:
        """As SVG at a place of the grid; panels of a row share their heights."""
        x, across = _scale(self.values(0), self.logarithmic[0], LEFT, WIDTH - 12)
        y, up = _scale(heights, self.logarithmic[1], HEIGHT - BELOW, TOP)
        parts = [f'<text x="{LEFT}" y="16" font-weight="bold">{self.title}</text>']
        parts += [_text(x(tick), HEIGHT - BELOW + 14, f"{tick:g}") for tick in across]
        parts += [_text(LEFT - 5, y(tick) + 4, f"{tick:g}", "end") for tick in up]
        parts += [f'<path d="M{LEFT} {y(tick):.1f}H{WIDTH - 12}" stroke="#ddd"/>' for tick in up]
        parts += [_text((LEFT + WIDTH - 12) / 2, HEIGHT - 8, self.across)]
        for place, (name, curve) in enumerate(self.curves.items()):
            colour = COLOURS[place % len(COLOURS)]
            path = "L".join(f"{x(a):.1f} {y(b):.1f}" for a, b in curve)
            parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
            if self.legend:
                parts.append(f'<text x="{WIDTH}" y="{TOP + 10 + 15 * place}" fill="{colour}">{name}</text>')
        return f'<g transform="translate({column * WIDTH},{row * HEIGHT})">{"".join(parts)}</g>'


def _text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


def _scale(values: list[float], logarithmic: bool, begin: float, end: float) -> tuple[Callable[[float], float], list]:
    """From a value to a place, and the ticks."""
    if logarithmic:
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        return lambda v: begin + (math.log10(v) - low) / (high - low) * (end - begin), [
            10.0**power for power in range(low, high + 1)
        ]
    span = (max(values) - min(0, *values)) or 1.0
    step = next(step for step in (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if span / step <= 6)
    low, high = math.floor(min(0, *values) / step) * step, math.ceil(max(values) / step) * step
    ticks = [round(low + place * step, 6) for place in range(round((high - low) / step) + 1)]
    return lambda v: begin + (v - low) / (high - low) * (end - begin), ticks


def write(name: str, grid: list[list[Panel]], margin: int = 0) -> None:
    """A page of panels, with room for a legend on the right."""
    bars = []
    for row, line in enumerate(grid):
        heights = [value for panel in line for value in panel.values(1)]
        bars += [panel.bars(column, row, heights) for column, panel in enumerate(line)]
    size = WIDTH * max(map(len, grid)) + margin, HEIGHT * len(grid)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" font-family="sans-serif"'
    FIGURES.mkdir(parents=True, exist_ok=True)
    (FIGURES / name).write_text(
        f'{head} font-size="11"><rect width="100%" height="100%" fill="white"/>{"".join(bars)}</svg>\n'
    )
    print((FIGURES / name).relative_to(ROOT))


def training() -> None:
    """Return over minutes of every shipped TD-MPC2."""
    curves: dict[str, dict[str, Curve]] = {"acrobot": {}, "cartpole": {}}
    for card in sorted(MODELS.glob("*/card.json")):
        written = json.loads(card.read_text())
        if written["model"]["kind"] == "tdmpc2" and not card.parent.is_symlink():
            rated = [one for one in written["curve"] if one["mean_return"] is not None]
            name = card.parent.name
            curves[name.split("-")[0]][name] = [(one["seconds"] / 60, one["mean_return"]) for one in rated]
    panels = [
        [Panel(f"{task}-swingup: return of 64 episodes", "minutes on one H200", named, legend=True)]
        for task, named in curves.items()
    ]
    write("tdmpc2-training.svg", panels, margin=140)


def over_training() -> None:
    """First-order ESNR, alignment and gaps over updates, a column for each variant."""
    from over_training import trainings

    columns = [_variant(name, runs, legend=name == "basic") for name, runs in trainings().items()]
    write("tdmpc2-over-training.svg", [list(row) for row in zip(*columns, strict=True)], margin=80)


def _variant(variant: str, runs: Sequence[TrainingReadings], *, legend: bool) -> list[Panel]:
    """What was measured over the trainings of a variant; a ratio of 0 or less has no place on the axis."""
    names = [run.name.removeprefix(f"{variant}, ") for run in runs]
    first_order = [run.entries("fog") for run in runs]
    ratios = [[one.esnr.value or 0.0 for one in entries] for entries in first_order]
    cosines = [[one.alignment.cosine.value or 0.0 for one in entries if one.alignment] for entries in first_order]

    def curves(columns: Sequence[Sequence[float]], least: float = -math.inf) -> dict[str, Curve]:
        found = [zip(map(float, run.updates), column, strict=True) for run, column in zip(runs, columns, strict=True)]
        return dict(zip(names, ([point for point in one if point[1] > least] for one in found), strict=True))

    return [
        Panel(f"{variant}: first-order ESNR", "updates", curves(ratios, 0.0), (True, True), legend),
        Panel(f"{variant}: alignment with the truth", "updates", curves(cosines), (True, False), legend),
        *(
            Panel(
                f"{variant}: gap under {name}",
                "updates",
                curves([run.column(name).tolist() for run in runs]),
                (True, False),
                legend,
            )
            for name in runs[0].beside
        ),
    ]


if __name__ == "__main__":
    training()
    over_training()
