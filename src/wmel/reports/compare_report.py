"""The record and the report of a paired comparison."""

from collections.abc import Iterator, Sequence

from wmel.analysis.compare import LEVEL, PairedDelta, PairedDeltas
from wmel.reports.analysis_record_types import ComparisonRecord, DeltaEntry, GateEntry, OutcomesEntry, UnmatchedEntry
from wmel.reports.cells import bounds, count_words, estimate_cell, stamp_words, undefined
from wmel.reports.document import Document, Points, Section, Table, TableCell, TableColumn, Text
from wmel.reports.record_entries import estimate_entry, estimate_from
from wmel.reports.record_types import stamp

FEW = 5  # seeds that are listed


def comparison_record(
    deltas: PairedDeltas, run_a: str, run_b: str, *, notes: list[str], bound: float | None
) -> ComparisonRecord:
    """The record of a comparison of two sides; `bound` is that of --fail-if-worse."""
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
        improvement=estimate_entry(deltas.improvement),
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
        p_value=delta.p_value,
        p_value_holm=delta.p_value_holm,
        smallest_drop_shown=delta.smallest_drop,
        return_delta=estimate_entry(delta.returns),
        improvement=estimate_entry(delta.improvement),
        errors_a=delta.errors[0],
        errors_b=delta.errors[1],
        unmatched_a=_unmatched_entry(delta.only_in_a),
        unmatched_b=_unmatched_entry(delta.only_in_b),
        compared=list(delta.compared),
    )


def _unmatched_entry(seeds: tuple[int, ...]) -> UnmatchedEntry:
    return UnmatchedEntry(episodes=len(seeds), first_seeds=list(seeds[:FEW]))


LISTED = 4  # more tasks than this are counted, not named
LOWER, HIGHER, SAME, UNJUDGED = OUTCOMES = ("lower", "higher", "not shown to differ", "not judged by success")
BETTER = "P(B > A)"
NUMBERS = ("A", "B", "B - A", "95% interval", "pairs", "only A", "only B", "p", "Holm p", "return B - A", BETTER)


def compare_document(record: ComparisonRecord, notes: Sequence[str] = ()) -> Document:
    """A table, then what it does not hold of single tasks, and what could not be compared.

    `notes` are added to the lines.
    """
    columns = (TableColumn("task", False), *(TableColumn(title, is_detail=title == BETTER) for title in NUMBERS))
    table = Table("Success of A and B", columns, tuple(map(_row, record.tasks))).without_empty_columns
    alike = {_describe_differences(one) for one in record.tasks}
    tasks = [line for one in record.tasks for line in _task_lines(one, is_alike=len(alike) == 1)]
    left = [f"{task}: not compared: {reason}" for task, reason in record.refused.items()]
    for side, names in {"A": record.only_in_a, "B": record.only_in_b}.items():
        left += [f"only in {side}: {', '.join(names)}"] if names else []
    shared = [Text(f"A: {record.run_a}", True), Text(f"B: {record.run_b}", True)]
    shared += [Text(f"Compared: {words}.", True) for words in alike if len(alike) == 1]
    several = [f"return over all tasks, which weigh the same: {words}" for words in _better_words(record)]
    tasks += several if len(record.tasks) > 1 else []
    sections = [
        Section("Success", [table]),
        Section("Single tasks", [Points.of([*tasks, *notes])]),
        Section("Not compared", [Points.of([*left, *record.notes])]),
    ]
    return Document("Comparison of two results", compare_answer(record), shared, sections, stamp_words(record))


def compare_answer(record: ComparisonRecord) -> str:
    """In which tasks success is shown to be lower or higher, and how many were not compared, in a sentence."""
    alone = {"only in A": record.only_in_a, "only in B": record.only_in_b, "refused": record.refused}
    counts = [f"{len(names)} {where}" for where, names in alone.items() if names]
    left = f"; not compared: {', '.join(counts)}" if counts else ""
    if len(record.tasks) == 1:
        words = _in_words(record.tasks[0])
        return f"{record.tasks[0].task}: {words}{left} (A: {record.run_a}; B: {record.run_b})."
    found: dict[str, list[str]] = {name: [] for name in OUTCOMES}
    for one in record.tasks:
        found[_outcome(one)].append(one.task)
    outcomes = ", ".join(
        f"{len(tasks)} {name}{f' ({_list_tasks(tasks)})' if tasks else ''}"
        for name, tasks in found.items()
        if tasks or name != UNJUDGED
    )
    sides = f"B ({record.run_b}) against A ({record.run_a})"
    return f"Success of {sides} over {count_words(len(record.tasks), 'task')}: {outcomes}{left}."


def _list_tasks(tasks: Sequence[str]) -> str:
    """Their names, which hold commas; the last of many are counted."""
    if len(tasks) <= LISTED:
        return "; ".join(tasks)
    return "; ".join([*tasks[: LISTED - 1], f"{len(tasks) - LISTED + 1} more"])


def _outcome(one: DeltaEntry) -> str:
    """One of OUTCOMES: in which direction success is shown to differ."""
    if one.shown_p_holm is None or one.outcomes is None:
        return UNJUDGED
    if one.shown_p_holm > LEVEL:
        return SAME
    return LOWER if one.outcomes.only_b < one.outcomes.only_a else HIGHER


def _row(one: DeltaEntry) -> tuple[TableCell, ...]:
    success, back = estimate_from(one.success_delta), estimate_from(one.return_delta)

    def cell(value: float | None, form: str = ".3f", reason: str = success.reason) -> TableCell:
        return undefined(reason) if value is None else TableCell(format(value, form), value=value)

    counts = (None, None) if one.outcomes is None else (one.outcomes.only_a, one.outcomes.only_b)
    return (
        TableCell(one.task),
        cell(one.success_rate_a),
        cell(one.success_rate_b),
        cell(success.value, "+.3f"),
        undefined(success.reason) if success.low is None else TableCell(bounds(success)),
        TableCell(str(one.pairs), value=one.pairs),
        *(cell(count, "d") for count in counts),
        cell(one.shown_p, ".2g"),
        cell(one.shown_p_holm, ".2g"),
        cell(back.value, "+.1f", back.reason),
        undefined("an earlier version wrote this record")
        if one.improvement is None
        else estimate_cell(one.improvement),
    )


def _task_lines(one: DeltaEntry, *, is_alike: bool) -> Iterator[str]:
    """What the table does not hold; what was compared, where tasks differ in that."""
    compared = [] if is_alike else [f"compared: {_describe_differences(one)}"]
    extra = [*_return_words(one), *_error_words(one), *compared]
    if extra:
        yield f"{one.task}: {'; '.join(extra)}"
    for side, unmatched in {"A": one.unmatched_a, "B": one.unmatched_b}.items():
        if unmatched.episodes:
            yield f"{one.task}: only in {side}, left out: {_describe_unmatched(unmatched)}"


def _describe_differences(one: DeltaEntry) -> str:
    """In what the sides differ."""
    return "; ".join(one.compared) or "policy, settings and versions are the same"


def _return_words(one: DeltaEntry) -> list[str]:
    back = one.return_delta
    if back.value is None:
        return []
    return [f"return B - A {back.value:+.1f} {bounds(estimate_from(back), 1)} ({back.method})", *_better_words(one)]


def _better_words(one: DeltaEntry | ComparisonRecord) -> list[str]:
    """The probability of improvement in return."""
    found = one.improvement
    if found is None or found.value is None:
        return []
    return [f"probability of improvement {found.value:.3f} {bounds(estimate_from(found))}"]


def _error_words(one: DeltaEntry) -> list[str]:
    if not one.errors_a and not one.errors_b:
        return []
    return [f"{count_words(one.errors_a, 'episode')} of A and {one.errors_b:,} of B broke and count as failures"]


def _in_words(one: DeltaEntry) -> str:
    rates = f"{count_words(one.pairs, 'pair')} (A {one.success_rate_a or 0:.3f}, B {one.success_rate_b or 0:.3f})"
    found = {
        LOWER: f"B succeeds less often than A on {rates}",
        HIGHER: f"B succeeds more often than A on {rates}",
        SAME: f"no difference of success is shown on {rates}",
        UNJUDGED: f"success is not compared: {one.success_delta.reason}",
    }[_outcome(one)]
    return "; ".join([found, *_return_words(one), *_error_words(one)])


def _describe_unmatched(unmatched: UnmatchedEntry) -> str:
    more = ", ..." if unmatched.episodes > len(unmatched.first_seeds) else ""
    return f"{count_words(unmatched.episodes, 'episode')} (seeds {', '.join(map(str, unmatched.first_seeds))}{more})"
