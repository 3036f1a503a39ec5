"""The records of `wmel esnr`, over-training and toy included: their fields, beside those of json_envelope."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from wmel.reports.compare_envelope import Share
from wmel.reports.json_envelope import Amount, Count, Entry, Envelope, EstimateEntry, Positive, Seed

Cosine = Annotated[float, Field(ge=-1.000001, le=1.000001)]


class AlignmentEntry(Entry):
    """The cosine between a model's mean gradients and the true ones, by central differences."""

    cosine: EstimateEntry
    against_share: Share | None  # of the resolved states; null: none is
    unresolved_share: Share


class EsnrEntry(Entry):
    """One model by one estimator."""

    model: str
    weights: str | None  # hash of what it learned
    method: Literal["fog", "fog(fd)", "zog", "cem"]
    settings: dict[str, str | bool | int | float]
    esnr: EstimateEntry
    esnr_per_rollout: EstimateEntry
    pooled: EstimateEntry
    raw: float | None
    gaussian: float | None
    jackknife: float | None
    median: float | None
    dominance: Share | None  # of the mean, by the state that contributes most
    alignment: AlignmentEntry | None  # null: there is no truth to compare with
    rollouts_per_gradient: Positive
    effective_elites: Amount | None
    dead_share: Share
    infinite_share: Share
    broken_share: Share
    flat_share: Share
    out_of_range_share: Share
    model_steps: Count
    seconds: Amount
    per_state: list[float | None]
    cosine_per_state: list[Cosine | None] | None


class EsnrDifferenceEntry(Entry):
    """The ESNR of one model less that of another, at the same states and noise."""

    model: str
    other: str
    method: str
    estimate: EstimateEntry


class StateEntry(Entry):
    """Where a model was asked."""

    episode_seed: Seed
    step: Count


class EsnrRecord(Envelope):
    """Models read by estimators of policy gradients, at the same states."""

    kind: Literal["esnr"]
    environment: str
    objective: str
    source: str  # of the states
    states: Annotated[list[StateEntry], Field(min_length=1)]
    readings: Annotated[list[EsnrEntry], Field(min_length=1)]
    differences: list[EsnrDifferenceEntry]
    versions: dict[str, str]
    parts: dict[str, Any] = Field(default_factory=dict)  # environment, objective and diagnostic as {name, **settings}

    @model_validator(mode="after")
    def _is_one_sitting(self) -> "EsnrRecord":
        for one in self.readings:
            for numbers in (one.per_state, one.cosine_per_state):
                if numbers is not None and len(numbers) != len(self.states):
                    raise ValueError(
                        f"{one.model} by {one.method} has {len(numbers)} values at {len(self.states)} states"
                    )
        return self


class CheckpointEntry(Entry):
    """What was read at one checkpoint of a training."""

    updates: Count
    reading: EsnrRecord


class TrainingEntry(Entry):
    """One training: its readings, and numbers from elsewhere by column and updates; null: no number."""

    name: str
    checkpoints: Annotated[list[CheckpointEntry], Field(min_length=1)]
    beside: dict[str, dict[str, float | None]]


class OverTrainingRecord(Envelope):
    """ESNR at the checkpoints of trainings."""

    kind: Literal["over-training"]
    trainings: Annotated[list[TrainingEntry], Field(min_length=1)]


class EstimatorEntry(Entry):
    """What one estimator did at one launch speed."""

    name: str
    ratios: list[float | None]  # ESNR per rollout at each angle
    literal: float
    right_sign: EstimateEntry
    heights: list[list[float]]  # by iteration and seed


class PanelEntry(Entry):
    """All estimators at one launch speed (m/s)."""

    speed: float
    estimators: Annotated[list[EstimatorEntry], Field(min_length=1)]


class ToyRecord(Envelope):
    """The ceiling bounce."""

    kind: Literal["toy"]
    panels: Annotated[list[PanelEntry], Field(min_length=1)]
