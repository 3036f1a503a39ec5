"""The one JSON envelope of wmel: its fields, defined here and nowhere else."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

SCHEMA_VERSION = "2.0"
Seed = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(gt=0)]


class Entry(BaseModel):
    """Unknown fields, NaN and infinities are refused; an entry is not changed once made."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True)


class EstimateEntry(Entry):
    """A number with its interval; `value` is null where it is undefined, and then `reason` says why."""

    value: float | None
    low: float | None
    high: float | None
    n: Count
    method: str
    reason: str


class ScorecardEntry(Entry):
    """The documents' fields, and every estimate in full beside them."""

    policy_name: str
    episodes: Positive
    success_rate: float
    average_steps_to_success: float | None
    average_planning_latency_ms: float | None
    average_compute_per_decision: float | None
    perturbation_recovery_rate: float | None
    estimates: dict[str, EstimateEntry]


class EpisodeEntry(Entry):
    """One episode."""

    episode_seed: Seed
    success: bool
    steps: Count
    first_success_step: Positive | None
    plan_calls: Count
    model_steps: Count
    declared_compute: float | None
    return_: Annotated[float | None, Field(alias="return")]
    pre_solved: bool
    perturbed: bool
    recovered: bool
    unperturbed_success: bool | None
    error: str | None
    planning_latencies_ms: list[float]


class Metadata(Entry):
    """What a reader needs to run it again."""

    env: str
    layout: str | None
    policy: str
    policy_reads: Literal["observation", "state"]
    model: str | None
    plan_horizon: Positive | None
    evaluations: Positive | None  # candidate sequences per plan call
    execute: Positive | None  # actions executed per plan; null: the whole plan
    seed: Seed
    perturb_prob: Annotated[float, Field(ge=0, le=1)]
    perturbation: str | None
    metrics: list[str]  # asked for beside the usual ones
    success: str
    stop: Literal["success", "horizon"]
    latency_threads: Positive
    python: str
    numpy: str


class RunMetadata(Metadata):
    episodes: Positive
    horizon: Positive


class SweepMetadata(Metadata):
    episodes_per_point: Positive
    episode_horizon: Positive
    epsilon: float


class SweepPointEntry(Entry):
    """One planning horizon."""

    plan_horizon: Positive
    scorecard: ScorecardEntry
    success_ci: tuple[float | None, float | None]
    latency_ci_ms: tuple[float | None, float | None]
    results: Annotated[list[EpisodeEntry], Field(min_length=1)]


class Envelope(Entry):
    """The stamp every record carries."""

    schema_version: Literal["2.0"]
    wmel_version: str
    generated_at: str


class RunRecord(Envelope):
    """One policy in one environment."""

    kind: Literal["run"]
    metadata: RunMetadata
    scorecard: ScorecardEntry
    results: Annotated[list[EpisodeEntry], Field(min_length=1)]


class SweepRecord(Envelope):
    """One policy at several planning horizons."""

    kind: Literal["sweep"]
    metadata: SweepMetadata
    policy_name: str
    points: Annotated[list[SweepPointEntry], Field(min_length=1)]
    effective_horizon: EstimateEntry


Record = Annotated[RunRecord | SweepRecord, Field(discriminator="kind")]
RECORD: TypeAdapter[RunRecord | SweepRecord] = TypeAdapter(Record)
