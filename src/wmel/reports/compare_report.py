"""The report of two sides compared on the seeds they share."""

from collections.abc import Iterator, Sequence

from wmel.analysis.compare import LEVEL
from wmel.reports.compare_envelope import ComparisonRecord, DeltaEntry, UnmatchedEntry
from wmel.reports.document import Document, Points, Section, Table, TableCell, TableColumn, Text
from wmel.reports.entries import estimate_from
from wmel.reports.words import bounds, stamp_words

NUMBERS = ("A", "B", "B - A", "95% interval", "pairs", "only A", "only B", "mid-p", "Holm", "return B - A")


def compare_document(record: ComparisonRecord, notes: Sequence[str] = ()) -> Document:
    """A table, then a line for each task and for what could not be compared; `notes` are added to the lines."""
    columns = (TableColumn("task", False), *map(TableColumn, NUMBERS))
    table = Table("Success of A and B", columns, tuple(map(_row, record.tasks)))
    tasks = [line for one in record.tasks for line in _task_lines(one)]
    left = [f"{task}: not compared: {reason}" for task, reason in record.refused.items()]
    for side, names in {"A": record.only_in_a, "B": record.only_in_b}.items():
        left += [f"only in {side}: {', '.join(names)}"] if names else []
    shared = [Text(f"A: {record.run_a}", True), Text(f"B: {record.run_b}", True)]
    sections = [
        Section("Success", [table]),
        Section("Task by task", [Points.of([*tasks, *notes])]),
        Section("Not compared", [Points.of([*left, *record.notes])]),
    ]
    return Document("Comparison of two results", compare_answer(record), shared, sections, stamp_words(record))


def compare_answer(record: ComparisonRecord) -> str:
    """How many tasks got better and worse, in a sentence."""
    shown = [one for one in record.tasks if one.mid_p_holm is not None and one.mid_p_holm <= LEVEL]
    lower = sum((one.success_delta.value or 0) < 0 for one in shown)
    if len(record.tasks) == 1:
        return f"{record.tasks[0].task}: {_in_words(record.tasks[0])}."
    counts = f"{lower} lower, {len(shown) - lower} higher, {len(record.tasks) - len(shown)} not shown to differ"
    return f"Success of B against A over {len(record.tasks)} tasks: {counts}."


def _row(one: DeltaEntry) -> tuple[TableCell, ...]:
    def cell(value: float | None, form: str = ".3f") -> TableCell:
        return TableCell("n/a" if value is None else format(value, form), value=value)

    alone = ("n/a", "n/a") if one.outcomes is None else (str(one.outcomes.only_a), str(one.outcomes.only_b))
    return (
        TableCell(one.task),
        cell(one.success_rate_a),
        cell(one.success_rate_b),
        cell(one.success_delta.value, "+.3f"),
        TableCell(bounds(estimate_from(one.success_delta))),
        TableCell(str(one.pairs), value=one.pairs),
        *map(TableCell, alone),
        cell(one.mid_p, ".2g"),
        cell(one.mid_p_holm, ".2g"),
        cell(one.return_delta.value, "+.1f"),
    )


def _task_lines(one: DeltaEntry) -> Iterator[str]:
    compared = "; ".join(one.compared) or "policy, settings and versions are the same"
    yield f"{one.task}: {_in_words(one)}; compared: {compared}"
    for side, unmatched in {"A": one.unmatched_a, "B": one.unmatched_b}.items():
        if unmatched.episodes:
            yield f"{one.task}: only in {side}, left out: {_listed(unmatched)}"


def _in_words(one: DeltaEntry) -> str:
    delta, p_value, counts, back = one.success_delta.value, one.mid_p_holm, one.outcomes, one.return_delta
    if delta is None or p_value is None or counts is None:
        words = f"success is not compared: {one.success_delta.reason}"
    elif p_value > LEVEL:
        words = f"no difference of success is shown on {one.pairs} pairs"
    else:
        words = f"B succeeds {'less' if delta < 0 else 'more'} often than A, by {abs(delta):.3f} on {one.pairs} pairs"
    if back.value is not None:
        words += f"; return B - A {back.value:+.1f} {bounds(estimate_from(back), 1)} ({back.method})"
    if one.errors_a or one.errors_b:
        words += f"; {one.errors_a} episodes of A and {one.errors_b} of B broke and count as failures"
    return words


def _listed(unmatched: UnmatchedEntry) -> str:
    more = ", ..." if unmatched.episodes > len(unmatched.first_seeds) else ""
    return f"{unmatched.episodes} episodes (seeds {', '.join(map(str, unmatched.first_seeds))}{more})"
