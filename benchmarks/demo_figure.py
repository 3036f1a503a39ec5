"""The picture of the README, docs/figures/demo.svg: how often each arm of the demo succeeds, from results/demo."""

import json
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS, PICTURE = ROOT / "results/demo/results.json", ROOT / "docs/figures/demo.svg"
WIDTH, EDGE, TOP, ROW = 390, 16, 76, 50  # a phone shows 390 pixels across
GREY, TEAL, RED = "#555555", "#009988", "#cc3311"
NAMES = {"oracle": "planner on the true dynamics", "random": "random actions"}


def draw(results: dict) -> str:
    """The first comparison of a study as SVG: a row for each arm, with its rate, interval and verdict."""
    comparison = results["comparisons"][0]
    verdicts = {model: gap["verdict"] for model, gap in comparison["gaps"].items()}
    cards = comparison["scorecards"]
    rows = [
        _row(TOP + ROW * place, arm, cards[arm]["estimates"]["success_rate"], verdicts.get(arm, ""))
        for place, arm in enumerate(cards)
    ]
    bottom = TOP + ROW * len(rows)
    ticks = [_text(_across(share), bottom + 14, f"{share:g}", anchor="middle") for share in (0, 0.5, 1)]
    episodes, environment = comparison["setting"]["episodes"], comparison["setting"]["env"]
    head = [
        _text(EDGE, 24, "May we plan with this model?", size=18, weight="bold"),
        _text(EDGE, 46, f"Share of {episodes} episodes of {environment} that succeed,"),
        _text(EDGE, 62, "with 95% intervals"),
    ]
    height = bottom + 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">'
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>{"".join([*head, *rows, *ticks])}</svg>\n'
    )


def _row(top: int, arm: str, rate: dict, verdict: str) -> str:
    """One arm: its name, its rate and what its gap is called, above its interval."""
    colour = GREY if not verdict else RED if verdict == "MODEL BOTTLENECK" else TEAL
    line, words = top + 32, NAMES.get(arm, f"planner on {arm}")
    marks = [
        _text(EDGE, top + 18, f"{words}: {rate['value']:.2f}", size=15),
        _text(WIDTH - EDGE, top + 18, verdict, size=11, anchor="end", colour=colour, weight="bold"),
        f'<path d="M{_across(0):.1f} {line}H{_across(1):.1f}" stroke="#dddddd"/>',
        f'<path d="M{_across(rate["low"]):.1f} {line}H{_across(rate["high"]):.1f}" stroke="{colour}" '
        'stroke-width="4"/>',
        f'<circle cx="{_across(rate["value"]):.1f}" cy="{line}" r="6" fill="{colour}"/>',
    ]
    return "".join(marks)


def _across(share: float) -> float:
    return EDGE + 6 + share * (WIDTH - 2 * EDGE - 12)


def _text(
    x: float, y: float, words: str, *, size: int = 13, anchor: str = "start", colour: str = "#222222", weight="normal"
) -> str:
    look = f'font-size="{size}" text-anchor="{anchor}" fill="{colour}" font-weight="{weight}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{escape(words)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(draw(json.loads(RESULTS.read_text())))
    print(PICTURE.relative_to(ROOT))
