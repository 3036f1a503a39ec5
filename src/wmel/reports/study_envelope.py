"""The record of a study: its fields, beside those of json_envelope."""

from typing import Annotated, Any, Literal

from pydantic import Field

from wmel.reports.json_envelope import (
    Count,
    CoverageEntry,
    CPGEntry,
    Entry,
    Envelope,
    EstimateEntry,
    RunMetadata,
    ScorecardEntry,
    Seed,
)


class ClaimsEntry(Entry):
    """What may be said of the trained checkpoints, and what of the recipe; null where one seed was trained."""

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
    name: str
    about: str
    cells: Count
    episodes: Count  # stored
    paper_first: bool = False  # the paper's rule is shown before the strict one
    rescored: str | None  # the criterion of success put in place of the study's own
    comparisons: list[ComparisonEntry]
    uncompared: list[ComparisonEntry] = Field(default_factory=list)  # arms that no oracle was run beside
    readings: list[ReadingEntry] = Field(default_factory=list)
    missing: list[MissingEntry]
    refused: Annotated[list[str], Field(description="what could not be pooled or compared, and why")]
