"""Types of records as JSON: studies, comparisons, ESNR, sample sizes and checks."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from wmel.analysis.verdict import TAU
from wmel.reports.record_types import (
    Amount,
    Count,
    CoverageEntry,
    CPGEntry,
    Entry,
    Envelope,
    EstimateEntry,
    Positive,
    RunMetadata,
    ScorecardEntry,
    Seed,
)


class ClaimsEntry(Entry):
    """The gap of the trained checkpoints and that of the recipe; null where one seed was trained."""

    these_checkpoints: EstimateEntry
    this_training_recipe: EstimateEntry


class ComparedEntry(CPGEntry):
    """The gap of one model in a study."""

    mid_p_holm: float | None  # adjusted over the gaps of the study; null: no mid-p
    claims: ClaimsEntry | None


class ComparisonEntry(Entry):
    """One setting: the oracle's arm, where it was run, the others and the floor, on the same seeds."""

    name: str
    labels: dict[str, Any]  # what the study sweeps, and where this setting stands
    arm_labels: dict[str, dict[str, Any]]  # the same of each model
    bases: dict[str, str] = Field(default_factory=dict)  # name of each arm without what is swept
    sweeps: dict[str, str] = Field(default_factory=dict)  # label -> the setting it is of: `planner.elites`
    parts: dict[str, Any] | None = None  # what the arms share, by kind; null in records of earlier versions
    setting: RunMetadata  # of the oracle's arm, or the first; the others differ in model or policy alone
    scorecards: dict[str, ScorecardEntry]  # by arm
    gaps: dict[str, ComparedEntry]  # by model
    trained: list[str] | None = None  # the models with learned weights; null in records of earlier versions
    coverage: dict[str, CoverageEntry] = Field(default_factory=dict)  # by arm, where an axis is to be covered


class ReadingEntry(Entry):
    """What a diagnostic found of one model."""

    diagnostic: dict[str, Any]  # {name, **settings that differ from their defaults}
    environment: dict[str, Any]
    objective: dict[str, Any] | None
    arm: str
    base: str  # name of the arm without what is swept
    seed: Seed
    labels: dict[str, Any]  # what the study sweeps, and where this reading stands
    sweeps: dict[str, str]  # label -> the setting it is of: `diagnostic.sigma`
    words: dict[str, str]  # what the diagnostic says of the reading: its method
    values: dict[str, EstimateEntry]


class MissingEntry(Entry):
    """A cell that is not whole."""

    cell: str
    episodes: Count
    reason: str


class StudyRecord(Envelope):
    """A study, computed from its stored rows."""

    kind: Literal["study"]
    verb: Literal["study", "diagnose"] = "study"  # whose result it is
    name: str
    about: str
    cells: Count
    episodes: Count  # stored
    paper_first: bool = False  # the verdicts by the rule of the CPG paper are added
    tau: float = TAU  # the margin of that rule
    rescored: str | None  # the criterion of success put in place of the study's own
    comparisons: list[ComparisonEntry]
    uncompared: list[ComparisonEntry] = Field(default_factory=list)  # arms that no oracle was run beside
    readings: list[ReadingEntry] = Field(default_factory=list)
    missing: list[MissingEntry]
    refused: Annotated[list[str], Field(description="what could not be pooled or compared, and why")]


Share = Annotated[float, Field(ge=0, le=1)]


class OutcomesEntry(Entry):
    """How many of the pairs both sides solve, one of them, or neither."""

    both: Count
    only_a: Count
    only_b: Count
    neither: Count


class UnmatchedEntry(Entry):
    """Episodes that one side alone ran."""

    episodes: Count
    first_seeds: list[Seed]


class DeltaEntry(Entry):
    """One task; every difference is B - A."""

    task: str
    pairs: Positive
    success_rate_a: Share | None  # null: no criterion of success
    success_rate_b: Share | None
    success_delta: EstimateEntry
    outcomes: OutcomesEntry | None
    mid_p: Share | None
    mid_p_holm: Share | None  # over the tasks
    p_value: Share | None = None  # of the exact test behind the interval; null: an earlier version's record
    p_value_holm: Share | None = None  # over the tasks; a difference is shown if it is at most .05
    smallest_drop_shown: Share | None  # with 80% power by so many pairs; null: none would be
    return_delta: EstimateEntry
    improvement: EstimateEntry | None = None  # probability that B returns more; null: an earlier version's record
    errors_a: Count
    errors_b: Count
    unmatched_a: UnmatchedEntry
    unmatched_b: UnmatchedEntry
    compared: list[str]  # what differs between the runs

    @model_validator(mode="after")
    def _check_delta(self) -> "DeltaEntry":
        counts, delta = self.outcomes, self.success_delta.value
        if (counts is None) != (delta is None):
            raise ValueError("a difference of success has its pairs counted")
        if counts is None or delta is None:
            return self
        if counts.both + counts.only_a + counts.only_b + counts.neither != self.pairs:
            raise ValueError("the outcomes are not as many as the pairs")
        if abs(delta - (counts.only_b - counts.only_a) / self.pairs) > 1e-9:
            raise ValueError("the difference of success is not that of the pairs one side alone solves")
        return self

    @property
    def shown_p(self) -> float | None:
        """The p-value that decides; records of earlier versions have a mid-p instead."""
        return self.mid_p if self.p_value is None else self.p_value

    @property
    def shown_p_holm(self) -> float | None:
        """The same after Holm's correction."""
        return self.mid_p_holm if self.p_value is None else self.p_value_holm


class GateEntry(Entry):
    """The bound of --fail-if-worse, and the tasks that are worse by it."""

    bound: Annotated[float, Field(gt=0, le=1)]
    worse: list[str]


class ComparisonRecord(Envelope):
    """Two runs, comparisons of models or studies, on the episodes they share."""

    kind: Literal["comparison"]
    run_a: str
    run_b: str
    tasks: Annotated[list[DeltaEntry], Field(min_length=1)]
    refused: dict[str, str]  # task -> why it could not be compared
    only_in_a: list[str]
    only_in_b: list[str]
    notes: list[str]
    fail_if_worse: GateEntry | None
    improvement: EstimateEntry | None = None  # over the tasks, which weigh the same


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
    bias: EstimateEntry | None = None  # against infinitely many samples; null in records of earlier versions
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
    """The ESNR of one model minus that of another, at the same states and noise."""

    model: str
    other: str
    method: str
    estimate: EstimateEntry


class StateEntry(Entry):
    """A state at which a model was read."""

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
    def _check_readings(self) -> "EsnrRecord":
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


class PowerRecord(Envelope):
    """The request; the answers are computed from it."""

    kind: Literal["power"]
    oracle: float
    learned: float
    paired: bool
    phi: float
    equivalence: float | None
    n: Positive | None
    half_width: float | None
    power: float
    paper: bool


class FindingEntry(Entry):
    """One promise of a contract, and how it was kept or broken."""

    promise: str
    problem: str  # empty: it is kept
    note: str


class CheckRecord(Envelope):
    """What the conformance kit of a part found."""

    kind: Literal["check"]
    name: str
    part: str  # its kind
    findings: list[FindingEntry]
