"""Between the values wmel computes with and the entries its records hold."""

import math
from typing import Any

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
    return ScorecardEntry(
        policy_name=card.policy_name,
        episodes=card.episodes,
        success_rate=card["success_rate"].value,
        average_return=card["average_return"].value,
        average_steps_to_success=card["average_steps_to_success"].value,
        average_planning_latency_ms=card["average_planning_latency_ms"].value,
        average_compute_per_decision=card["average_compute_per_decision"].value,
        perturbation_recovery_rate=card["perturbation_recovery_rate"].value,
        estimates={name: estimate_entry(estimate) for name, estimate in card.estimates.items()},
    )


def episode_entries(table: EpisodeTable, *, rewards: bool = False) -> list[EpisodeEntry]:
    """One entry per row, with its rewards where asked for; what a column marks as missing becomes null."""
    table = table if rewards else table.with_column("rewards", np.full(len(table), None))
    return [_episode_entry({name: table[name][row] for name in COLUMNS}) for row in range(len(table))]


def episode_table(entries: list[EpisodeEntry]) -> EpisodeTable:
    """The table the entries were made from."""
    columns = {name: np.empty(len(entries), dtype=kind) for name, kind in COLUMNS.items()}
    for row, entry in enumerate(entries):
        for name, value in _table_row(entry).items():
            columns[name][row] = value
    return EpisodeTable(columns)


def _table_row(entry: EpisodeEntry) -> dict[str, Any]:
    """What the entry says of each column; null becomes what the column marks as missing."""
    missing = {"first_success_step": -1, "error": "", "success": False, "rewards": None}
    said = {name: getattr(entry, name) for name in COLUMNS if name not in ("judged", "return")} | {
        "judged": entry.success is not None,
        "return": entry.return_,
        "planning_latencies_ms": tuple(entry.planning_latencies_ms),
        "rewards": None if entry.rewards is None else np.array(entry.rewards),
    }
    return {name: missing.get(name, math.nan) if value is None else value for name, value in said.items()}


def _episode_entry(row: dict) -> EpisodeEntry:
    return EpisodeEntry(
        episode_seed=int(row["episode_seed"]),
        success=bool(row["success"]) if row["judged"] else None,
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
        rewards=None if row["rewards"] is None else row["rewards"].tolist(),
        planning_latencies_ms=list(row["planning_latencies_ms"]),
    )


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else float(number)
