"""Estimates, scorecards, coverage and episodes as entries of a record, and back; and whether two entries agree."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from wmel.analysis.scorecard import Scorecard
from wmel.reports.record_types import CoverageEntry, Envelope, EpisodeEntry, EstimateEntry, ScorecardEntry
from wmel.schema import COLUMNS, EPISODE_COLUMNS, Column, Coverage, EpisodeTable, blank_columns
from wmel.stats.estimate import Estimate


def estimate_entry(estimate: Estimate) -> EstimateEntry:
    return EstimateEntry(**vars(estimate))


def estimate_from(entry: EstimateEntry) -> Estimate:
    return Estimate(**dict(entry))


def coverage_entry(coverage: Coverage | None) -> CoverageEntry | None:
    return None if coverage is None else CoverageEntry(**asdict(coverage))


def coverage_from(entry: CoverageEntry | None) -> Coverage | None:
    return None if entry is None else Coverage(**{**dict(entry), "histogram": tuple(entry.histogram)})


def coverage_entries(coverage: Mapping[str, Coverage | None]) -> dict[str, CoverageEntry]:
    """Those that are there, by name."""
    entries = {name: coverage_entry(one) for name, one in coverage.items()}
    return {name: one for name, one in entries.items() if one is not None}


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


def episode_entries(table: EpisodeTable, *, rewards: bool = False) -> list[Any]:
    """One entry per row, with its rewards where they are wanted; what a column marks as missing becomes null."""
    table = table if rewards else table.with_column("rewards", np.full(len(table), None))
    return [_episode_entry({name: table[name][row] for name in COLUMNS}) for row in range(len(table))]


def episode_table(entries: list[Any]) -> EpisodeTable:
    """The table the entries were made from."""
    columns = blank_columns(len(entries))
    for row, entry in enumerate(entries):
        for name, value in _table_row(entry).items():
            if value is not None:
                columns[name][row] = value
    return EpisodeTable(columns)


def _table_row(entry: Any) -> dict[str, Any]:
    """The value of each column in an entry; None where it is missing."""
    values = {name: getattr(entry, name) for name in COLUMNS if name not in ("judged", "return")}
    values |= {"judged": entry.success is not None, "return": entry.return_}
    for column in EPISODE_COLUMNS:
        value = values[column.name]
        if column.is_series and value is not None:
            values[column.name] = tuple(value) if column.missing == () else np.array(value)
    return values


def _episode_entry(row: dict[str, Any]) -> Any:
    values = {
        "return_" if column.name == "return" else column.name: _plain(column, row[column.name])
        for column in EPISODE_COLUMNS
        if column.name != "judged"
    }
    if not row["judged"]:
        values["success"] = None
    if values["unperturbed_success"] is not None:
        values["unperturbed_success"] = bool(values["unperturbed_success"])
    return EpisodeEntry(**values, recovered=bool(row["perturbed"] and row["success"]))


def _plain(column: Column, value: Any) -> Any:
    """A value as JSON has it; null in place of the value by which the column marks a missing one."""
    if column.is_missing(value):
        return None
    if column.is_series:
        return [float(one) for one in value]
    return value if column.dtype is object else column.dtype(value).item() if column.dtype is not bool else bool(value)


def same_record(one: Envelope, other: Envelope) -> bool:
    """Whether two records have equal content; their stamps may differ."""
    stamped = {"schema_version", "wmel_version", "generated_at"}
    return agree(one.model_dump(exclude=stamped), other.model_dump(exclude=stamped))


RULE_FIELDS = (
    "gap_ci_low",
    "gap_ci_high",
    "gap_method",
    "verdict",
    "verdicts",
    "p_value",
    "p_value_holm",
    "comparisons",
    "relative_loss",
    "failure_split",
)


def follows(stored: Any, derived: Any) -> bool:
    """Whether a stored value is the derived one, but for the last digits of numbers.

    Earlier versions had other methods, with other bounds or none: of such an estimate the value is compared. Gaps of
    earlier versions have no p-value; the rule of their interval and verdict was another one.
    """
    if isinstance(stored, dict) and "gap_method" in stored and stored["p_value"] is None and derived["p_value"]:
        stored, derived = (
            {key: value for key, value in one.items() if key not in RULE_FIELDS} for one in (stored, derived)
        )
    if isinstance(stored, dict) and _has_other_method(stored, derived):
        return agree(stored["value"], derived["value"])
    if isinstance(stored, dict) and isinstance(derived, dict):
        return stored.keys() == derived.keys() and all(follows(stored[key], derived[key]) for key in stored)
    if isinstance(stored, list | tuple) and isinstance(derived, list | tuple):
        return len(stored) == len(derived) and all(map(follows, stored, derived))
    return agree(stored, derived)


def _has_other_method(stored: dict[str, Any], derived: Any) -> bool:
    """Whether an estimate was made by another method than now."""
    return {"method", "low"} <= stored.keys() and stored["method"] != derived["method"]


def agree(one: Any, other: Any) -> bool:
    """Equal, but for the last digits of numbers."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(agree(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(agree, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return one == other
