"""Types of records as JSON: what all records share, and the records of runs, sweeps and gaps."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, create_model, model_validator

from wmel.analysis.verdict import TAU
from wmel.machine import wmel_version
from wmel.schema import EPISODE_COLUMNS, Column

SCHEMA_VERSION = "2.1"
READABLE = ("2.0", "2.1")  # in 2.0 planners and objectives were text
LARGEST = 2**63 - 1
Seed = Annotated[int, Field(ge=0, le=LARGEST)]
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Positive = Annotated[int, Field(gt=0, le=LARGEST)]
Amount = Annotated[float, Field(ge=0)]
PartData = dict[str, Any] | str  # {name, **settings}; text in records of schema 2.0


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
    """The fields of the wmel 0.18 repository, and every estimate in full beside them."""

    policy_name: str
    episodes: Positive
    success_rate: float | None  # null: no criterion was given
    average_return: float | None
    average_steps_to_success: float | None
    average_planning_latency_ms: float | None
    average_compute_per_decision: float | None
    perturbation_recovery_rate: float | None
    estimates: dict[str, EstimateEntry]


class CoverageEntry(Entry):
    """Visited states along an axis."""

    axis: str
    states: Positive
    mean: float
    most: float
    above_half: float
    above_three_quarters: float
    histogram: list[Count]


class _Episode(Entry):
    """One episode: the columns of `wmel.schema`, null where one is missing, and whether it recovered."""

    recovered: bool

    @model_validator(mode="after")
    def _check_episode(self) -> Any:
        row: Any = self
        if bool(row.success) != (row.first_success_step is not None):
            raise ValueError("an episode succeeds exactly if it has a first success step")
        if row.rewards is not None and len(row.rewards) != row.steps:
            raise ValueError("an episode has one reward for each of its steps")
        if row.first_success_step is not None and row.first_success_step > row.steps:
            raise ValueError("the first success step lies beyond the last step")
        if row.success and row.error is not None:
            raise ValueError("an episode that broke did not succeed")
        if row.recovered != (row.perturbed and bool(row.success)):
            raise ValueError("recovered means perturbed and successful")
        return self


def _field(column: Column) -> tuple[Any, Any]:
    """The type of a column in JSON, and its default: a record without the column reads as missing."""
    kind: Any = {"success": bool | None, "unperturbed_success": bool, "episode_seed": Seed}.get(column.name)
    if kind is None:
        number = Amount if column.kind == "measure" or column.name == "declared_compute" else float
        plain = {np.int64: Positive if column.is_positive else Count, np.float64: number, bool: bool, object: str}
        kind = list[number] if column.is_series else plain[column.dtype]
    kind = kind | None if column.can_be_missing else kind
    if not column.since_2_0:
        return kind, Field(default=None if column.can_be_missing else column.missing, description=column.doc)
    alias = "return" if column.name == "return" else None
    return Annotated[kind, Field(alias=alias, description=column.doc)], ...


EpisodeEntry = create_model(
    "EpisodeEntry",
    __base__=_Episode,
    __doc__="One episode.",
    **{  # pyright: ignore[reportArgumentType, reportCallIssue]
        "return_" if column.name == "return" else column.name: _field(column)
        for column in EPISODE_COLUMNS
        if column.name != "judged"  # null success
    },
)


class Metadata(Entry):
    """What a reader needs to run it again."""

    env: str
    layout: str | None  # the drawing of a grid world
    policy: str
    policy_reads: Literal["observation", "state"]
    model: str | None
    weights: str | None  # hash of what it learned
    planner: PartData | None
    objective: PartData | None
    plan_horizon: Positive | None
    evaluations: Positive | None  # candidate sequences per plan call
    execute: Positive | None  # actions executed per plan; null: the whole plan
    seed: Seed
    seeds: Annotated[list[Seed], Field(min_length=1)]  # the first is `seed`
    perturb_prob: Annotated[float, Field(ge=0, le=1)]
    perturbation: str | None
    metrics: list[str]  # requested beside the usual ones
    init: Literal["task", "fixed"] | None  # where episodes start, where there is a choice
    success: str | None  # null: no criterion was given
    stop: Literal["success", "horizon"]
    latency_threads: Positive
    versions: dict[str, str]  # of Python and the packages in use
    parts: dict[str, Any] = {}  # by kind, {name, **settings}; empty in records of schema 2.0


class RunMetadata(Metadata):
    episodes: Positive
    horizon: Positive


class SweepMetadata(Metadata):
    episodes_per_point: Positive
    episode_horizon: Positive
    epsilon: float


class SweepPointEntry(Entry):
    """One point of a sweep."""

    plan_horizon: Positive | None
    swept: dict[str, Any] = {}  # setting -> value; empty in records of schema 2.0, which sweep the planning horizon
    scorecard: ScorecardEntry
    success_ci: tuple[float | None, float | None]
    latency_ci_ms: tuple[float | None, float | None]
    coverage: CoverageEntry | None = None  # null: no axis to be covered, a part of a block, or schema 2.0
    results: Annotated[list[EpisodeEntry], Field(min_length=1)]  # pyright: ignore[reportInvalidTypeForm]


def _check_rows(results: list[Any], episodes: int, horizon: int) -> None:
    """The rows are as many and as long as the metadata says, each with a seed of its own."""
    if len(results) != episodes:
        raise ValueError(f"the metadata says {episodes} episodes, and there are {len(results)}")
    if len({row.episode_seed for row in results}) != len(results):
        raise ValueError("two episodes share a seed")
    if max(row.steps for row in results) > horizon:
        raise ValueError(f"an episode is longer than the {horizon} steps it may take")


class Envelope(Entry):
    """The stamp every record carries."""

    schema_version: Literal["2.0", "2.1"]
    wmel_version: str
    generated_at: AwareDatetime


class RunRecord(Envelope):
    """One policy in one environment."""

    kind: Literal["run"]
    metadata: RunMetadata
    scorecard: ScorecardEntry
    coverage: CoverageEntry | None = None  # null: no axis to be covered, a part of a block, or schema 2.0
    results: Annotated[list[EpisodeEntry], Field(min_length=1)]  # pyright: ignore[reportInvalidTypeForm]

    @model_validator(mode="after")
    def _check_run(self) -> "RunRecord":
        _check_rows(self.results, self.metadata.episodes, self.metadata.horizon)
        if self.scorecard.policy_name != self.metadata.policy:
            raise ValueError("the scorecard is of another policy than the metadata")
        return self


class SweepRecord(Envelope):
    """One policy at several planning horizons."""

    kind: Literal["sweep"]
    metadata: SweepMetadata
    policy_name: str
    points: Annotated[list[SweepPointEntry], Field(min_length=1)]
    effective_horizon: EstimateEntry

    @model_validator(mode="after")
    def _check_sweep(self) -> "SweepRecord":
        horizons = [point.plan_horizon or point.swept.get("plan_horizon") for point in self.points]
        alone = all(set(point.swept) <= {"plan_horizon"} for point in self.points)
        is_ordered = len(horizons) > 1  # one point may have no planning horizon: a metric alone is swept
        if is_ordered and alone and (None in horizons or horizons != sorted(set(horizons), key=lambda one: one or 0)):
            raise ValueError(f"the points of a sweep go from short to long, got {horizons}")
        for point in self.points:
            _check_rows(point.results, self.metadata.episodes_per_point, self.metadata.episode_horizon)
        if self.policy_name != self.metadata.policy:
            raise ValueError("the sweep is of another policy than the metadata")
        return self


class IntervalEntry(Entry):
    """Bounds by a named method."""

    low: float
    high: float


class VerdictEntry(Entry):
    """What a gap is called by a rule, and why."""

    label: str
    rule: str
    margins: dict[str, float]
    interval: EstimateEntry
    reason: str
    n_that_decides: Positive | None


class CPGEntry(Entry):
    """The gap of one model: the fields of the wmel 0.18 repository, ours beside them."""

    oracle_success_rate: float
    learned_success_rate: float
    gap: float
    gap_ci_low: float
    gap_ci_high: float
    gap_method: str
    n_episodes_oracle: Positive
    n_episodes_learned: Positive
    verdict: str
    verdict_paper: (
        str | None
    )  # null: the run could stop early, which the rule and interval of the CPG paper do not allow for
    verdicts: dict[str, VerdictEntry]  # by rule
    agresti_caffo: IntervalEntry | None
    mid_p: EstimateEntry
    oracle_only: Count | None  # discordant pairs; null: not paired
    learned_only: Count | None
    relative_loss: EstimateEntry
    failure_split: dict[str, float]
    return_gap: EstimateEntry
    errors: Count
    p_value: EstimateEntry | None = None  # of a gap of 0, by the rule of the verdict; null: an earlier version's record
    p_value_holm: float | None = None  # after Holm's correction; the verdict claims a gap only if it is at most .05
    comparisons: Positive | None = None  # gaps that were corrected together

    @model_validator(mode="after")
    def _check_gap(self) -> "CPGEntry":
        if abs(self.gap - (self.oracle_success_rate - self.learned_success_rate)) > 1e-9:
            raise ValueError("the gap is not the difference of the two rates")
        if self.verdict not in {verdict.label for verdict in self.verdicts.values()}:
            raise ValueError("the verdict is not among those explained")
        return self


class CPGRecord(Envelope):
    """One planner on the oracle, on models and at random, on the same seeds; the rows are in the arms' own records."""

    kind: Literal["cpg"]
    environment: str
    metric: Literal["counterfactual_planning_gap"]
    setting: RunMetadata  # of the oracle's arm; the others differ in model or policy alone
    arms: dict[str, str]  # name -> file of its run record, beside this one
    scorecards: dict[str, ScorecardEntry]
    coverage: dict[str, CoverageEntry | None]
    max_episodes: Positive | None  # of a run that may stop early
    cpgs: dict[str, CPGEntry]  # by the name of the model
    models: dict[str, str | None] = {}  # name -> checkpoint or package.module:object; null: it was a live object
    looked: dict[str, Positive] = {}  # by model, pairs at the last verdict before pairs were added
    trained: list[str] | None = None  # the models with learned weights; null in records of earlier versions
    paper_first: bool = False  # the verdicts by the rule of the CPG paper are added
    tau: float = TAU  # the margin of that rule


def stamp() -> dict[str, Any]:
    """Who wrote a record, and when."""
    return {
        "schema_version": SCHEMA_VERSION,
        "wmel_version": wmel_version(),
        "generated_at": datetime.now(UTC).replace(microsecond=0),
    }
