"""How results look on the screen."""

import re

from wmel.analysis.horizon import HorizonSweep
from wmel.analysis.scorecard import Scorecard
from wmel.cli.screen import console, table
from wmel.reports.json_envelope import Metadata, RunMetadata, SweepMetadata
from wmel.reports.words import bounds, horizon_note, number


def print_scorecard(metadata: RunMetadata, card: Scorecard) -> None:
    """One line per metric; an undefined one says why."""
    rows = table("metric", "value", "95% interval", "n", "note")
    for name, estimate in card.estimates.items():
        note = estimate.method if estimate.is_defined else estimate.reason
        rows.add_row(name, number(estimate), bounds(estimate), str(estimate.n), note)
    print(f"{metadata.episodes} episodes of at most {metadata.horizon} steps: {setting_words(metadata)}")
    console().print(rows)


def print_sweep(metadata: SweepMetadata, sweep: HorizonSweep) -> None:
    """One line per planning horizon, and H*."""
    rows = table("plan_horizon", "success", "95% CI", "steps", "latency_ms", "95% CI (ms)", "compute/decision")
    for horizon, card in zip(sweep.plan_horizons, sweep.scorecards, strict=True):
        success, latency = card["success_rate"], card["average_planning_latency_ms"]
        steps, compute = card["average_steps_to_success"], card["average_compute_per_decision"]
        rows.add_row(
            str(horizon), number(success), bounds(success), number(steps, 1), number(latency), bounds(latency),
            number(compute, 1),
        )  # fmt: skip
    points = f"{metadata.episodes_per_point} episodes per horizon of at most {metadata.episode_horizon} steps"
    print(f"{points}: {setting_words(metadata)}")
    console().print(rows)
    print(f"effective horizon H* = {number(sweep.effective_horizon, 0)} ({horizon_note(sweep)})")


def setting_words(metadata: Metadata) -> str:
    """Who acts, on what, where and from which seeds."""
    planning = "" if metadata.plan_horizon is None else f", plan horizon {metadata.plan_horizon}"
    drawn = "" if metadata.evaluations is None else f", {metadata.evaluations} candidates"
    model = "" if metadata.model is None else f" on {metadata.model}"
    scored = "" if metadata.objective is None else f", plans scored by {_name_within(metadata.objective)}"
    sight = ", reads the true state" if metadata.policy_reads == "state" else ""
    struck = "" if metadata.perturbation is None else f", {metadata.perturbation} in {metadata.perturb_prob:.0%}"
    starts = {None: "", "task": ", task starts", "fixed": ", one fixed start"}[metadata.init]
    seeds = ", ".join(map(str, metadata.seeds))
    judged = "" if metadata.success is None else f", success {metadata.success}"
    whole = ", run to the end" if metadata.stop == "horizon" else ""
    acting = f"{metadata.policy}{model}{planning}{drawn}{scored}{sight}"
    return f"{acting}, in {metadata.env}{starts}{judged}{whole}{struck}, seed {seeds}"


def _name_within(objective: str) -> str:
    """Of an objective as a record describes it, what it is called."""
    named = re.search(r"\bname='([^']+)'", objective)
    return objective if named is None else named[1]
