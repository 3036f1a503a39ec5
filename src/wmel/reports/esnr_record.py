"""From readings to their record."""

import numpy as np

from wmel.diagnostics.esnr.readings import Reading, Readings
from wmel.reports.entries import estimate_entry
from wmel.reports.esnr_envelope import AlignmentEntry, EsnrDifferenceEntry, EsnrEntry, EsnrRecord, StateEntry
from wmel.reports.records import stamp
from wmel.versions import versions_in_use


def esnr_record(readings: Readings, environment: str) -> EsnrRecord:
    """The record of everything that was read."""
    seen = readings.observations
    states = zip(seen.episodes.tolist(), seen.steps.tolist(), strict=True)
    return EsnrRecord(
        **stamp(),
        kind="esnr",
        environment=environment,
        objective=readings.objective,
        source=seen.source,
        states=[StateEntry(episode_seed=episode, step=step) for episode, step in states],
        readings=[_entry(reading) for reading in readings.rows],
        differences=[
            EsnrDifferenceEntry(
                model=one.model, other=one.other, method=one.method, estimate=estimate_entry(one.estimate)
            )
            for one in readings.differences
        ],
        versions=versions_in_use(),
    )


def _entry(reading: Reading) -> EsnrEntry:
    found, aligned = reading.esnr, reading.alignment
    shares = ("dead_share", "infinite_share", "broken_share", "flat_share")
    names = ("raw", "gaussian", "jackknife", "median", "dominance", "model_steps", "seconds", *shares)
    return EsnrEntry(
        model=reading.model,
        weights=reading.weights,
        method=found.method,  # pyright: ignore[reportArgumentType]
        settings=found.settings.described(found.method, discrete=found.gradients.discrete),
        **{name: estimate_entry(getattr(found, name)) for name in ("esnr", "esnr_per_rollout", "pooled")},
        **{name: getattr(found, name) for name in names},
        alignment=None
        if aligned is None
        else AlignmentEntry(
            cosine=estimate_entry(aligned.cosine),
            against_share=aligned.against_share,
            unresolved_share=aligned.unresolved_share,
        ),
        rollouts_per_gradient=found.gradients.rollouts_each,
        effective_elites=found.gradients.effective_elites,
        out_of_range_share=found.gradients.out_of_range,
        per_state=_numbers(found.per_observation),
        cosine_per_state=None if aligned is None else _numbers(aligned.cosines),
    )


def _numbers(values: np.ndarray) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
