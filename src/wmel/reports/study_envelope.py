"""The record of a study: its fields, beside those of json_envelope."""

from typing import Annotated, Any, Literal

from pydantic import Field

from wmel.reports.json_envelope import (
    Count,
    CPGEntry,
    Entry,
    Envelope,
    EstimateEntry,
    RunMetadata,
    ScorecardEntry,
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
    """One setting: the oracle's arm, the models' arms and the floor, on the same seeds."""

    name: str
    labels: dict[str, Any]  # what the study sweeps, and where this setting stands
    arm_labels: dict[str, dict[str, Any]]  # the same of each model
    setting: RunMetadata  # of the oracle's arm; the others differ in model or policy alone
    scorecards: dict[str, ScorecardEntry]  # by arm
    gaps: dict[str, ComparedEntry]  # by model


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
    rescored: str | None  # the criterion of success put in place of the study's own
    comparisons: list[ComparisonEntry]
    missing: list[MissingEntry]
    refused: Annotated[list[str], Field(description="what could not be pooled or compared, and why")]
