"""Paste-ready Markdown: a scorecard, or a horizon sweep with the documents' columns."""

from wmel.analysis.horizon import HorizonSweep
from wmel.analysis.scorecard import Scorecard
from wmel.reports.words import bounds, horizon_note, number


def to_markdown_scorecard(card: Scorecard) -> str:
    """One line per metric; an undefined one says why."""
    lines = [
        f"### Scorecard: `{card.policy_name}`",
        "",
        f"{card.episodes} episodes.",
        "",
        "| metric | value | 95% interval | n | note |",
        "| :--- | ---: | :--- | ---: | :--- |",
    ]
    for name, estimate in card.estimates.items():
        note = estimate.method if estimate.is_defined else estimate.reason
        lines.append(f"| {name} | {number(estimate)} | {bounds(estimate)} | {estimate.n} | {note} |")
    return "\n".join(lines) + "\n"


def to_markdown_horizon_sweep(sweep: HorizonSweep) -> str:
    """One line per planning horizon, and H* below."""
    lines = [
        f"### Horizon sweep: `{sweep.policy_name}`",
        "",
        "| plan_horizon | success_rate | success_95ci | avg_steps | latency_ms_per_call | latency_95ci "
        "| compute_per_decision |",
        "| ---: | ---: | :--- | ---: | ---: | :--- | ---: |",
    ]
    for horizon, card in zip(sweep.plan_horizons, sweep.scorecards, strict=True):
        success, latency = card["success_rate"], card["average_planning_latency_ms"]
        cells = [
            str(horizon),
            number(success),
            bounds(success),
            number(card["average_steps_to_success"], digits=1),
            number(latency),
            bounds(latency),
            number(card["average_compute_per_decision"]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", f"Effective horizon H* = {number(sweep.effective_horizon, digits=0)} ({horizon_note(sweep)})."]
    return "\n".join(lines) + "\n"
