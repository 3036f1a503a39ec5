"""Between the values wmel computes with and the entries its records hold."""

import math

import numpy as np

from wmel.analysis.scorecard import Scorecard
from wmel.episodes import COLUMNS, EpisodeTable
from wmel.reports.json_envelope import EpisodeEntry, EstimateEntry, ScorecardEntry
from wmel.stats.estimate import Estimate


def estimate_entry(estimate: Estimate) -> EstimateEntry:
    return EstimateEntry(**vars(estimate))


def estimate_from(entry: EstimateEntry) -> Estimate:
    return Estimate(**dict(entry))


def scorecard_entry(card: Scorecard) -> ScorecardEntry:
    success = card["success_rate"].value
    assert success is not None, "a run has at least one episode"
    return ScorecardEntry(
        policy_name=card.policy_name,
        episodes=card.episodes,
        success_rate=success,
        average_steps_to_success=card["average_steps_to_success"].value,
        average_planning_latency_ms=card["average_planning_latency_ms"].value,
        average_compute_per_decision=card["average_compute_per_decision"].value,
        perturbation_recovery_rate=card["perturbation_recovery_rate"].value,
        estimates={name: estimate_entry(estimate) for name, estimate in card.estimates.items()},
    )


def episode_entries(table: EpisodeTable) -> list[EpisodeEntry]:
    """One entry per row; what a column marks as missing becomes null."""
    return [_episode_entry({name: table[name][row] for name in COLUMNS}) for row in range(len(table))]


def episode_table(entries: list[EpisodeEntry]) -> EpisodeTable:
    """The table the entries were made from."""
    missing = {
        "first_success_step": -1,
        "declared_compute": math.nan,
        "return": math.nan,
        "unperturbed_success": math.nan,
        "error": "",
    }
    columns = {}
    for name, kind in COLUMNS.items():
        column = np.empty(len(entries), dtype=kind)
        for row, entry in enumerate(entries):
            value = getattr(entry, "return_" if name == "return" else name)
            column[row] = missing[name] if value is None else tuple(value) if isinstance(value, list) else value
        columns[name] = column
    return EpisodeTable(columns)


def _episode_entry(row: dict) -> EpisodeEntry:
    return EpisodeEntry(
        episode_seed=int(row["episode_seed"]),
        success=bool(row["success"]),
        steps=int(row["steps"]),
        first_success_step=int(row["first_success_step"]) if row["first_success_step"] > 0 else None,
        plan_calls=int(row["plan_calls"]),
        model_steps=int(row["model_steps"]),
        declared_compute=_or_none(row["declared_compute"]),
        return_=_or_none(row["return"]),
        pre_solved=bool(row["pre_solved"]),
        perturbed=bool(row["perturbed"]),
        recovered=bool(row["perturbed"] and row["success"]),
        unperturbed_success=None if math.isnan(row["unperturbed_success"]) else bool(row["unperturbed_success"]),
        error=row["error"] or None,
        planning_latencies_ms=list(row["planning_latencies_ms"]),
    )


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else float(number)
