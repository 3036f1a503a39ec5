"""The record of ESNR over trainings, and the readings that earlier versions left in a folder."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from wmel.errors import BadRecord
from wmel.reports.esnr_envelope import CheckpointEntry, EsnrRecord, OverTrainingRecord, TrainingEntry
from wmel.reports.over_training_curves import TrainingReadings
from wmel.reports.records import read_record, stamp

READINGS = "readings"  # of earlier versions: readings/RUN/UPDATES.json
Numbers = Mapping[str, Mapping[str, float | None]]


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
    """The trainings a record was made from."""
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
