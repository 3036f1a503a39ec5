"""The record of the ceiling bounce."""

from collections.abc import Sequence

import numpy as np

from wmel.diagnostics.ceiling_bounce.panel import ANGLES, SIGMA, Panel, PanelReading
from wmel.diagnostics.ceiling_bounce.problem import landscape
from wmel.reports.entries import estimate_entry, estimate_from
from wmel.reports.esnr_envelope import EstimatorEntry, PanelEntry, ToyRecord
from wmel.reports.records import stamp


def toy_record(panels: Sequence[Panel]) -> ToyRecord:
    """What every estimator did at every launch speed; the landscape follows from the speed."""
    return ToyRecord(
        **stamp(),
        kind="toy",
        panels=[PanelEntry(speed=one.speed, estimators=[_entry(read) for read in one.readings]) for one in panels],
    )


def recorded_panels(record: ToyRecord) -> list[Panel]:
    """The panels a record was made from."""
    return [Panel(landscape(one.speed, SIGMA), ANGLES, tuple(map(_reading, one.estimators))) for one in record.panels]


def _entry(read: PanelReading) -> EstimatorEntry:
    return EstimatorEntry(
        name=read.name,
        ratios=[float(one) if np.isfinite(one) else None for one in read.ratios],
        literal=read.literal,
        right_sign=estimate_entry(read.right_sign),
        heights=read.heights.tolist(),
    )


def _reading(entry: EstimatorEntry) -> PanelReading:
    ratios = np.array([np.nan if one is None else one for one in entry.ratios])
    return PanelReading(entry.name, ratios, entry.literal, estimate_from(entry.right_sign), np.array(entry.heights))
