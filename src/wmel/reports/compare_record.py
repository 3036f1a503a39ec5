"""The record of `wmel compare`: two sides, task by task; the rows are in the sides' own records."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from wmel.analysis.paired_delta import PairedDelta, PairedDeltas
from wmel.reports.entries import estimate_entry
from wmel.reports.files import write_atomically
from wmel.reports.json_envelope import Count, Entry, Envelope, EstimateEntry, Positive, Seed
from wmel.reports.records import stamp

FEW = 5  # seeds that are listed

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


def comparison_record(
    deltas: PairedDeltas, run_a: str, run_b: str, *, notes: list[str], bound: float | None
) -> ComparisonRecord:
    """All that is said of a comparison of two sides; `bound` is that of --fail-if-worse."""
    gate = None
    if bound is not None:
        gate = GateEntry(bound=bound, worse=[delta.task for delta in deltas.tasks if delta.is_worse_by(bound)])
    return ComparisonRecord(
        **stamp(),
        kind="comparison",
        run_a=run_a,
        run_b=run_b,
        tasks=[_entry(delta) for delta in deltas.tasks],
        refused=dict(deltas.refused),
        only_in_a=list(deltas.only_in_a),
        only_in_b=list(deltas.only_in_b),
        notes=notes,
        fail_if_worse=gate,
    )


def write_compared(path: Path, record: ComparisonRecord) -> None:
    """Write the record as JSON."""
    write_atomically(path, record.model_dump_json(indent=1) + "\n")


def _entry(delta: PairedDelta) -> DeltaEntry:
    counts = delta.outcomes
    outcomes = rate_a = rate_b = None
    if counts is not None:
        both, only_b, only_a = int(counts.both), int(counts.oracle_only), int(counts.learned_only)
        outcomes = OutcomesEntry(both=both, only_a=only_a, only_b=only_b, neither=int(counts.neither))
        rate_a, rate_b = (both + only_a) / delta.pairs, (both + only_b) / delta.pairs
    return DeltaEntry(
        task=delta.task,
        pairs=delta.pairs,
        success_rate_a=rate_a,
        success_rate_b=rate_b,
        success_delta=estimate_entry(delta.success),
        outcomes=outcomes,
        mid_p=delta.mid_p,
        mid_p_holm=delta.mid_p_holm,
        smallest_drop_shown=delta.smallest_drop,
        return_delta=estimate_entry(delta.returns),
        errors_a=delta.errors[0],
        errors_b=delta.errors[1],
        unmatched_a=_unmatched(delta.only_in_a),
        unmatched_b=_unmatched(delta.only_in_b),
        compared=list(delta.compared),
    )


def _unmatched(seeds: tuple[int, ...]) -> UnmatchedEntry:
    return UnmatchedEntry(episodes=len(seeds), first_seeds=list(seeds[:FEW]))
