"""`wmel compare`: what a change did to success, task by task, on the episodes both sides ran."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wmel.cli import options
from wmel.cli.options import number

if TYPE_CHECKING:
    from wmel.contract.cell import CellResult
    from wmel.contract.run import Run
    from wmel.reports.compare_record import ComparisonRecord, DeltaEntry, UnmatchedEntry
    from wmel.study.load import LoadedStudy

EXAMPLES = """\b
Examples:
  wmel compare before.json after.json
  wmel compare runs/cartpole-old runs/cartpole-new --output compared.json
  wmel compare runs/study-main runs/study-branch --fail-if-worse 0.05
"""
RUN, CPG, STUDY = "a run", "a comparison of models", "a study"
EARLY = "pairs were added until its gaps were decided, which intervals and p-values here do not allow for"


@dataclass(frozen=True, eq=False)
class Side:
    """What stands on one side: runs by task, and what must be said of them."""

    kind: str
    tasks: dict[str, "Run"]
    notes: tuple[str, ...] = ()


def compare(
    run_a: Annotated[
        Path, typer.Argument(help="Before: a record of `wmel run`, a folder of `wmel cpg` or of a study.")
    ],
    run_b: Annotated[Path, typer.Argument(help="After: another of the same kind.")],
    fail_if_worse: Annotated[
        float | None,
        typer.Option(
            "--fail-if-worse",
            parser=number,
            metavar="<float>",
            help="Exit with 1 if the success of some task is shown to be lower in B, and by at least so much.",
        ),
    ] = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> int:
    """Compare two runs task by task on the episodes both ran: B less A, its interval, and Holm's p-value."""
    from wmel.analysis.paired_delta import paired_deltas
    from wmel.cli.inputs import check_outputs
    from wmel.cli.screen import say_where
    from wmel.errors import BadInput
    from wmel.reports.compare_record import comparison_record, write_compared

    check_outputs(output)
    if fail_if_worse is not None and not 0 < fail_if_worse <= 1:
        raise BadInput(f"--fail-if-worse takes a drop of success in (0, 1], got {fail_if_worse:g}")
    if output is not None and output.resolve() in (run_a.resolve(), run_b.resolve()):
        raise BadInput(f"--output would overwrite what is compared: {output}")
    a, b = _side(run_a), _side(run_b)
    if a.kind != b.kind:
        raise BadInput(f"{run_a} is {a.kind} and {run_b} is {b.kind}: compare two of a kind; an arm's record is a run")
    if a.kind == RUN:  # two records are one task, whatever they say
        b = replace(b, tasks=dict(zip(a.tasks, b.tasks.values(), strict=True)))
    deltas = paired_deltas(a.tasks, b.tasks)
    if fail_if_worse is not None and all(delta.outcomes is None for delta in deltas.tasks):
        raise BadInput("--fail-if-worse needs a criterion of success, and these runs had none")
    notes = [*(f"A: {note}" for note in a.notes), *(f"B: {note}" for note in b.notes)]
    record = comparison_record(deltas, str(run_a), str(run_b), notes=notes, bound=fail_if_worse)
    if output is not None:
        write_compared(output, record)
    if not quiet:
        _print_record(record)
        say_where(record=output)
    return _judgement(record, quiet=quiet)


def _side(path: Path) -> Side:
    from wmel.errors import BadRecord
    from wmel.reports.cpg_record import FILE, check_arms
    from wmel.reports.json_envelope import CPGRecord, RunRecord
    from wmel.reports.records import read_record, recorded_run

    if path.is_dir() and (path / "study.json").exists():
        from wmel.study.load import load_study

        return _study(load_study(path))
    if path.is_dir() and not (path / FILE).exists():
        raise BadRecord(f"{path} holds neither {FILE} nor study.json: it is no folder of `wmel cpg` or of a study")
    file = path / FILE if path.is_dir() else path
    stored = read_record(file)
    if isinstance(stored, RunRecord):
        return Side(RUN, {stored.metadata.env: recorded_run(stored)})
    if not isinstance(stored, CPGRecord):
        raise BadRecord(f"{file} is a sweep: `wmel compare` takes records of `wmel run`, or folders")
    check_arms(file, stored)
    arms = {name: read_record(file.parent / arm) for name, arm in stored.arms.items()}
    runs = {name: recorded_run(arm) for name, arm in arms.items() if isinstance(arm, RunRecord)}
    return Side(CPG, runs, () if stored.max_episodes is None else (EARLY,))


def _study(loaded: "LoadedStudy") -> Side:
    """Arms with their seeds pooled; a cell's name is told apart by what the study sweeps where it has to be."""
    from wmel.analysis.study_arms import pooled
    from wmel.errors import BadInput

    results, settings = loaded.results, {}
    for one in results:
        settings.setdefault(_without_seed(one), set()).add(one.cell.setting)
    groups: dict[str, list[Run]] = {}
    for one in results:
        name = _without_seed(one)
        swept = "".join(f"/{key}={value}" for key, value in one.cell.labels.items()) if len(settings[name]) > 1 else ""
        if one.run is not None:
            groups.setdefault(name + swept, []).append(one.run)
    tasks, notes = {}, []
    for task, runs in groups.items():
        try:
            tasks[task] = pooled(runs)
        except BadInput as error:
            notes.append(f"{task}: {error}")
    missing = sum(one.missing for one in results)
    notes += [f"{missing} episodes of the study are not stored"] if missing else []
    return Side(STUDY, tasks, (*([EARLY] if loaded.anytime else []), *loaded.damaged, *notes))


def _without_seed(one: "CellResult") -> str:
    return one.cell.name.removesuffix(f"/seed-{one.cell.seed}")


def _print_record(record: "ComparisonRecord") -> None:
    """A table, then a line for each task and for what could not be compared."""
    from wmel.cli.screen import console, table
    from wmel.reports.entries import estimate_from
    from wmel.reports.words import bounds

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


def _in_words(one: "DeltaEntry") -> str:
    from wmel.analysis.paired_delta import LEVEL
    from wmel.reports.entries import estimate_from
    from wmel.reports.words import bounds

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


def _listed(unmatched: "UnmatchedEntry") -> str:
    more = ", ..." if unmatched.episodes > len(unmatched.first_seeds) else ""
    return f"{unmatched.episodes} episodes (seeds {', '.join(map(str, unmatched.first_seeds))}{more})"


def _judgement(record: "ComparisonRecord", *, quiet: bool) -> int:
    """Exit code 1, and the tasks named, where B is worse; otherwise what these pairs could not have shown."""
    if record.fail_if_worse is None:
        return 0
    bound, worse = record.fail_if_worse.bound, record.fail_if_worse.worse
    for one in record.tasks:
        delta, p_value, least = one.success_delta.value, one.mid_p_holm, one.smallest_drop_shown
        if one.task in worse:
            lower = f"{one.task}: success is lower in B by {abs(delta or 0):.3f}, where a drop of {bound:g} fails"
            print(f"wmel: {lower} (Holm's mid-p {p_value:.2g})", file=sys.stderr)
        elif not quiet and p_value is not None and (least is None or least > bound):
            could = f"no drop would be shown by {one.pairs} pairs" if one.success_rate_a else "A never succeeds"
            if least is not None:
                could = f"{one.pairs} pairs show a drop from {least:.2f} on (80% power)"
            print(f"{one.task}: a drop of {bound:g} is not shown, which is no proof that there is none: {could}")
    unjudged = [*record.refused, *record.only_in_a, *(one.task for one in record.tasks if one.mid_p_holm is None)]
    if unjudged and not quiet:
        print(f"not judged: {', '.join(unjudged)}")
    return 1 if worse else 0
