"""wmel.compare: what a change did to success, task by task, on the episodes both sides ran."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from wmel.analysis.compare import paired_deltas
from wmel.api import options as o
from wmel.api.episodes import check_outputs
from wmel.errors import BadInput
from wmel.reports.compare_record import comparison_record
from wmel.reports.records import write_record
from wmel.reports.terminal import compare_lines
from wmel.results import Result

if TYPE_CHECKING:
    from wmel.experiments.load import LoadedStudy
    from wmel.reports.compare_envelope import ComparisonRecord
    from wmel.schema import Run

RUN, CPG, STUDY = "a run", "a comparison of models", "a study"
EARLY = "pairs were added until its gaps were decided, which intervals and p-values here do not allow for"


@dataclass(frozen=True, eq=False)
class Side:
    """What stands on one side: runs by task, and what must be said of them."""

    kind: str
    tasks: dict[str, "Run"]
    notes: tuple[str, ...] = ()


@o.verb
def compare(
    run_a: o.Stored,
    run_b: o.Stored,
    *,
    fail_if_worse: Annotated[
        float | None,
        o.Option(
            "Exit with 1 if the success of some task is shown to be lower in B, and by at least so much.", "number"
        ),
    ] = None,
    output: o.Output = None,
    quiet: o.Quiet = False,
) -> Result:
    """Compare two runs task by task on the episodes both ran: B less A, its interval, and Holm's p-value.

    Both are of one kind: records of `wmel run`, folders of `wmel cpg`, or of studies. OUTPUT is a .json file.
    """
    first, second = Path(run_a), Path(run_b)
    check_outputs(output)
    if fail_if_worse is not None and not 0 < fail_if_worse <= 1:
        raise BadInput(f"--fail-if-worse takes a drop of success in (0, 1], got {fail_if_worse:g}")
    if output is not None and Path(output).resolve() in (first.resolve(), second.resolve()):
        raise BadInput(f"--output would overwrite what is compared: {output}")
    a, b = _side(first), _side(second)
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
        write_record(Path(output), record)
    failures, unshown, code = _judgement(record)
    rows = [
        {"task": one.task, "a": one.success_rate_a, "b": one.success_rate_b, "difference": one.success_delta.value,
         "low": one.success_delta.low, "high": one.success_delta.high, "pairs": one.pairs, "p_holm": one.mid_p_holm}
        for one in record.tasks
    ]  # fmt: skip
    return Result(
        _answer(record),
        rows,
        record,
        [*compare_lines(record), *unshown],
        code,
        files={} if output is None else {"record": Path(output)},
        failures=failures,
    )


def _answer(record: "ComparisonRecord") -> str:
    shown = [one for one in record.tasks if one.mid_p_holm is not None and one.mid_p_holm <= 0.05]
    lower = sum((one.success_delta.value or 0) < 0 for one in shown)
    counts = f"{lower} lower, {len(shown) - lower} higher, {len(record.tasks) - len(shown)} not shown to differ"
    return f"Success of B against A over {len(record.tasks)} tasks: {counts}."


def _side(path: Path) -> Side:
    from wmel.errors import BadRecord
    from wmel.reports.cpg_record import FILE, check_arms
    from wmel.reports.json_envelope import CPGRecord, RunRecord
    from wmel.reports.records import read_record, recorded_run

    if path.is_dir() and (path / "study.json").exists():
        from wmel.experiments.load import load_study

        return _study(load_study(path))
    if path.is_dir() and not (path / FILE).exists():
        raise BadRecord(f"{path} holds neither {FILE} nor study.json: it is no folder of `wmel cpg` or of a study")
    file = path / FILE if path.is_dir() else path
    stored = read_record(file)
    if isinstance(stored, RunRecord):
        return Side(RUN, {stored.metadata.env: recorded_run(stored)})
    if not isinstance(stored, CPGRecord):
        raise BadRecord(f"{file} is a {stored.kind}: `wmel compare` takes records of `wmel run`, or folders")
    check_arms(file, stored)
    arms = {name: read_record(file.parent / arm) for name, arm in stored.arms.items()}
    runs = {name: recorded_run(arm) for name, arm in arms.items() if isinstance(arm, RunRecord)}
    return Side(CPG, runs, () if stored.max_episodes is None else (EARLY,))


def _study(loaded: "LoadedStudy") -> Side:
    """Arms with their seeds pooled."""
    from wmel.analysis.pooling import pooled
    from wmel.errors import BadInput

    results, groups = loaded.results, {}
    for one in results:
        if one.run is not None:
            groups.setdefault(one.cell.name.removesuffix(f"/seed-{one.cell.seed}"), []).append(one.run)
    tasks, notes = {}, []
    for task, runs in groups.items():
        try:
            tasks[task] = pooled(runs)
        except BadInput as error:
            notes.append(f"{task}: {error}")
    missing = sum(one.missing for one in results)
    notes += [f"{missing} episodes of the study are not stored"] if missing else []
    return Side(STUDY, tasks, (*([EARLY] if loaded.anytime else []), *loaded.damaged, *notes))


def _judgement(record: "ComparisonRecord") -> tuple[list[str], list[str], int]:
    """What fails, what so many pairs do not show, and the exit code: 1 where B is worse or cannot be judged."""
    if record.fail_if_worse is None:
        return [], [], 0
    failures: list[str] = []
    notes: list[str] = []
    bound, worse = record.fail_if_worse.bound, record.fail_if_worse.worse
    for one in record.tasks:
        delta, p_value, least = one.success_delta.value, one.mid_p_holm, one.smallest_drop_shown
        if one.task in worse:
            lower = f"{one.task}: success is lower in B by {abs(delta or 0):.3f}, where a drop of {bound:g} fails"
            failures.append(f"{lower} (Holm's mid-p {p_value:.2g})")
        elif p_value is not None and (least is None or least > bound):
            could = f"no drop would be shown by {one.pairs} pairs" if one.success_rate_a else "A never succeeds"
            if least is not None:
                could = f"{one.pairs} pairs show a drop from {least:.2f} on (80% power)"
            notes.append(f"{one.task}: a drop of {bound:g} is not shown, which is no proof that there is none: {could}")
    unjudged = [*record.refused, *record.only_in_a, *(one.task for one in record.tasks if one.mid_p_holm is None)]
    if unjudged:
        failures.append(f"--fail-if-worse could not judge {', '.join(unjudged)}")
    return failures, notes, 1 if worse or unjudged else 0
