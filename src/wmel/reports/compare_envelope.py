"""The record of `wmel compare`: its fields, beside those of json_envelope."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from wmel.reports.json_envelope import Count, Entry, Envelope, EstimateEntry, Positive, Seed

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
    smallest_drop_shown: Share | None  # with 80% power by so many pairs; null: none would be
    return_delta: EstimateEntry
    errors_a: Count
    errors_b: Count
    unmatched_a: UnmatchedEntry
    unmatched_b: UnmatchedEntry
    compared: list[str]  # what differs between the runs

    @model_validator(mode="after")
    def _is_one_delta(self) -> "DeltaEntry":
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


class GateEntry(Entry):
    """What was asked by --fail-if-worse, and which tasks are."""

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
