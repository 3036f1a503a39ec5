"""The records of ESNR: of readings side by side, and of readings over training with their curves."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from wmel.contract.cell import ORACLE
from wmel.diagnostics.esnr.over_training import Correlation, CurveShape, Pairs, TrainingCurve, correlation, u_shape
from wmel.diagnostics.esnr.result import MAX_BROKEN, mean_over_states
from wmel.errors import BadInput, BadRecord
from wmel.reports.analysis_record_types import (
    CheckpointEntry,
    EsnrDifferenceEntry,
    EsnrEntry,
    EsnrRecord,
    OverTrainingRecord,
    TrainingEntry,
)
from wmel.reports.record_entries import estimate_entry
from wmel.reports.record_types import EstimateEntry, stamp
from wmel.reports.records import read_record
from wmel.stats.estimate import Estimate

TRUTH = {"fog": "fog(fd)"}  # what the oracle is read by instead
Column = Mapping[int, float]  # a number by updates
READINGS = "readings"  # of earlier versions: readings/RUN/UPDATES.json
Numbers = Mapping[str, Mapping[str, float | None]]


def joined_esnr_record(parts: Sequence[Mapping[str, Any]], versions: Mapping[str, str]) -> EsnrRecord:
    """The record of models that were read one by one, each together with the oracle."""
    first = parts[0]
    for part in parts[1:]:
        for name in ("environment", "objective", "source", "states"):
            if part[name] != first[name]:
                raise BadInput(f"readings cannot be put side by side: their {name} differs")
    own = [one for part in parts for one in part["readings"] if one["model"] != ORACLE]
    truth = [one for one in first["readings"] if one["model"] == ORACLE]
    entries = [EsnrEntry(**one) for one in (*own, *truth)]
    episodes = np.array([state["episode_seed"] for state in first["states"]])
    shared = {name: first[name] for name in ("environment", "objective", "source", "states")}
    return EsnrRecord(
        **stamp(),
        kind="esnr",
        **shared,
        readings=entries,
        differences=_differences([one for one in entries if one.model != ORACLE], episodes),
        versions=dict(versions),
        parts={kind: part for kind, part in first.get("parts", {}).items() if kind != "model"},
    )


def _differences(entries: Sequence[EsnrEntry], episodes: np.ndarray) -> list[EsnrDifferenceEntry]:
    """Every pair of models by the same estimator with the same settings."""
    pairs = [(a, b) for a, b in combinations(entries, 2) if a.method == b.method and a.settings == b.settings]
    return [
        EsnrDifferenceEntry(
            model=a.model, other=b.model, method=a.method, estimate=estimate_entry(_difference(a, b, episodes))
        )
        for a, b in pairs
    ]


def _difference(a: EsnrEntry, b: EsnrEntry, episodes: np.ndarray) -> Estimate:
    """A - B on the same states and the same noise."""
    for one in (a, b):
        if one.esnr.value is None:
            return Estimate.undefined(f"{one.model}: {one.esnr.reason}")
    return mean_over_states(
        np.array(a.per_state, float) - np.array(b.per_state, float), episodes, int(a.settings["samples"])
    )


@dataclass(frozen=True, eq=False)
class TrainingReadings:
    """One run: what was read at its checkpoints, and numbers from elsewhere beside it."""

    name: str
    records: Mapping[int, EsnrRecord]  # by updates, rising
    beside: Mapping[str, Column]

    @property
    def updates(self) -> np.ndarray:
        """[n]"""
        return np.array(list(self.records), float)

    @property
    def methods(self) -> list[str]:
        first = next(iter(self.records.values()))
        return [one.method for one in first.readings if one.model != ORACLE]

    def entries(self, method: str) -> list[EsnrEntry]:
        return [_entry(record, method, truth=False) for record in self.records.values()]

    def truths(self, method: str) -> list[EsnrEntry]:
        """The oracle's, at the same noise; none where it was not read."""
        there = any(one.model == ORACLE for record in self.records.values() for one in record.readings)
        return [_entry(record, method, truth=True) for record in self.records.values()] if there else []

    def curve(self, method: str) -> TrainingCurve:
        found = [_numbers(one.esnr, dead=is_dead(one)) for one in self.entries(method)]
        return TrainingCurve(self.updates, *np.array(found).T)

    def column(self, name: str) -> np.ndarray:
        """[n], NaN where there is no number"""
        known = self.beside.get(name, {})
        return np.array([known.get(updates, np.nan) for updates in self.records])


@dataclass(frozen=True)
class Beside:
    """What goes together with a column: a predictor, by name, and how closely."""

    column: str
    predictor: str
    found: Correlation


def is_dead(one: EsnrEntry) -> bool:
    """Every gradient is zero: an ESNR of 0, and not an unknown one."""
    return one.dead_share == 1 and one.broken_share <= MAX_BROKEN


def columns_of(trainings: Sequence[TrainingReadings]) -> list[str]:
    return list(dict.fromkeys(name for one in trainings for name in one.beside))


def correlations(trainings: Sequence[TrainingReadings]) -> list[Beside]:
    """Every column with ESNR, alignment and, as a placebo, the oracle's ESNR, by every estimator.

    Each run from its lowest checkpoint on where its ESNR is U-shaped, and whole where it is not.
    """
    found = []
    for column in columns_of(trainings):
        for method in trainings[0].methods:
            for name, values in _predictors(method).items():
                pairs = [
                    Pairs(one.updates, values(one), one.column(column)).since(_start(one.curve(method)))
                    for one in trainings
                ]
                if any(np.isfinite(pair.one).any() for pair in pairs):
                    found.append(Beside(column, f"{method} {name}", correlation(pairs)))
    return found


def _predictors(method: str) -> dict[str, Callable[[TrainingReadings], np.ndarray]]:
    def alignments(one: TrainingReadings) -> np.ndarray:
        entries = [entry.alignment for entry in one.entries(method)]
        return np.array([np.nan if entry is None else _numbers(entry.cosine)[0] for entry in entries])

    def placebo(one: TrainingReadings) -> np.ndarray:
        values = [_numbers(entry.esnr)[0] for entry in one.truths(method)]
        return np.array(values) if values else np.full(len(one.updates), np.nan)

    return {
        "ESNR": lambda one: one.curve(method).esnr,
        "alignment": alignments,
        "ESNR of the oracle (placebo)": placebo,
    }


def _start(curve: TrainingCurve) -> int | None:
    found = u_shape(curve)
    return found.minimum if found.shape is CurveShape.U else None


def _entry(record: EsnrRecord, method: str, *, truth: bool) -> EsnrEntry:
    wanted = TRUTH.get(method, method) if truth else method
    return next(one for one in record.readings if (one.model == ORACLE) is truth and one.method == wanted)


def _numbers(entry: EstimateEntry, *, dead: bool = False) -> tuple[float, float, float]:
    """Value and ends of the interval, NaN where there is none."""
    if dead:
        return 0.0, 0.0, 0.0
    value, low, high = (np.nan if end is None else end for end in (entry.value, entry.low, entry.high))
    return value, low, high


def over_training_record(trainings: Sequence[TrainingReadings]) -> OverTrainingRecord:
    """All that was read, and the numbers beside it."""
    return OverTrainingRecord(
        **stamp(),
        kind="over-training",
        trainings=[
            TrainingEntry(
                name=one.name,
                checkpoints=[CheckpointEntry(updates=at, reading=record) for at, record in one.records.items()],
                beside=written_numbers(one.beside),
            )
            for one in trainings
        ],
    )


def recorded_trainings(record: OverTrainingRecord) -> list[TrainingReadings]:
    """The trainings a record was found from."""
    return [
        TrainingReadings(one.name, {at.updates: at.reading for at in one.checkpoints}, read_numbers(one.beside))
        for one in record.trainings
    ]


def earlier_trainings(folder: Path) -> list[TrainingReadings]:
    """The trainings whose readings an earlier version left in a folder."""
    found = []
    for run in sorted(one for one in (folder / READINGS).iterdir() if one.is_dir()):
        records: dict[int, EsnrRecord] = {}
        for file in sorted((one for one in run.glob("*.json") if one.stem.isdecimal()), key=lambda one: int(one.stem)):
            record = read_record(file)
            if not isinstance(record, EsnrRecord):
                raise BadRecord(f"{file} is no record of ESNR readings but of kind {record.kind}")
            records[int(file.stem)] = record
        if records:
            found.append(TrainingReadings(run.name, records, {}))
    if not found:
        raise BadRecord(f"{folder / READINGS} holds no readings")
    return found


def written_numbers(columns: Mapping[str, Mapping[int, float]]) -> dict[str, dict[str, float | None]]:
    """Numbers by column and updates as JSON has them: null for NaN."""
    return {
        name: {str(at): None if math.isnan(one) else one for at, one in column.items()}
        for name, column in columns.items()
    }


def read_numbers(columns: Numbers) -> dict[str, dict[int, float]]:
    """What `written_numbers` was given."""
    return {
        name: {int(at): math.nan if one is None else one for at, one in column.items()}
        for name, column in columns.items()
    }
