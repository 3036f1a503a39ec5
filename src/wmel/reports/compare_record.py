"""The record of `wmel compare`: two sides, task by task; the rows are in the sides' own records."""

from wmel.analysis.compare import PairedDelta, PairedDeltas
from wmel.reports.compare_envelope import ComparisonRecord, DeltaEntry, GateEntry, OutcomesEntry, UnmatchedEntry
from wmel.reports.entries import estimate_entry
from wmel.reports.records import stamp

FEW = 5  # seeds that are listed


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
