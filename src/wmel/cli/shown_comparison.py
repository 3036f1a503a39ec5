"""How a comparison of two runs looks on the screen."""

from wmel.analysis.paired_delta import LEVEL
from wmel.cli.screen import console, table
from wmel.reports.compare_envelope import ComparisonRecord, DeltaEntry, UnmatchedEntry
from wmel.reports.entries import estimate_from
from wmel.reports.words import bounds


def print_compared(record: ComparisonRecord) -> None:
    """A table, then a line for each task and for what could not be compared."""

    def share(value: float | None, form: str = ".3f") -> str:
        return "n/a" if value is None else format(value, form)

    print(f"A: {record.run_a}\nB: {record.run_b}")
    rows = table(
        "name", "A", "B", "B - A", "95% interval", "pairs", "only A", "only B", "mid-p", "Holm", "return B - A"
    )
    for place, column in enumerate(rows.columns):  # tasks of studies have long names
        column.no_wrap, column.overflow = place > 0, "fold"
    for one in record.tasks:
        alone = ("n/a", "n/a") if one.outcomes is None else (str(one.outcomes.only_a), str(one.outcomes.only_b))
        delta, back = one.success_delta.value, one.return_delta.value
        rows.add_row(
            one.task, share(one.success_rate_a), share(one.success_rate_b), share(delta, "+.3f"),
            bounds(estimate_from(one.success_delta)), str(one.pairs), *alone, share(one.mid_p, ".2g"),
            share(one.mid_p_holm, ".2g"), share(back, "+.1f"),
        )  # fmt: skip
    console().print(rows)
    for one in record.tasks:
        print(f"{one.task}: {_in_words(one)}")
        print(f"  compared: {'; '.join(one.compared) or 'policy, settings and versions are the same'}")
        for side, unmatched in {"A": one.unmatched_a, "B": one.unmatched_b}.items():
            if unmatched.episodes:
                print(f"  only in {side}, left out: {_listed(unmatched)}")
    for task, reason in record.refused.items():
        print(f"{task}: not compared: {reason}")
    for side, tasks in {"A": record.only_in_a, "B": record.only_in_b}.items():
        if tasks:
            print(f"only in {side}: {', '.join(tasks)}")
    for note in record.notes:
        print(note)


def _in_words(one: DeltaEntry) -> str:
    delta, p_value, counts, back = one.success_delta.value, one.mid_p_holm, one.outcomes, one.return_delta
    if delta is None or p_value is None or counts is None:
        said = f"success is not compared: {one.success_delta.reason}"
    elif p_value > LEVEL:
        said = f"no difference of success is shown on {one.pairs} pairs"
    else:
        said = f"B succeeds {'less' if delta < 0 else 'more'} often than A, by {abs(delta):.3f} on {one.pairs} pairs"
    if back.value is not None:
        said += f"; return B - A {back.value:+.1f} {bounds(estimate_from(back), 1)} ({back.method})"
    if one.errors_a or one.errors_b:
        said += f"; {one.errors_a} episodes of A and {one.errors_b} of B broke and count as failures"
    return said


def _listed(unmatched: UnmatchedEntry) -> str:
    more = ", ..." if unmatched.episodes > len(unmatched.first_seeds) else ""
    return f"{unmatched.episodes} episodes (seeds {', '.join(map(str, unmatched.first_seeds))}{more})"
