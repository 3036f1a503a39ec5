"""wmel.compare: what a change did to success, task by task, on the episodes both sides ran."""

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

from wmel.analysis.compare import paired_deltas
from wmel.api import options as o
from wmel.api.episodes import check_outputs, record_outputs, write_outputs
from wmel.api.load import load
from wmel.api.overwrite import refuse_other_kind
from wmel.api.verbs import verb
from wmel.errors import BadInput, BadRecord
from wmel.experiments.load import LoadedStudy, load_study
from wmel.reports.analysis_record_types import ComparisonRecord
from wmel.reports.compare_report import compare_answer, compare_document, comparison_record
from wmel.reports.document import draw_figure
from wmel.results import Result
from wmel.schema import Run, pool_runs

RUN, SWEEP, CPG, STUDY = "a run", "a sweep", "a comparison of models", "a study"
EARLY = "pairs were added until its gaps were decided; intervals and p-values here do not account for that"


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a comparison: runs by task, and the notes about them."""

    kind: str
    tasks: dict[str, Run]
    notes: tuple[str, ...] = ()


@verb
def compare(
    run_a: o.StoredOrResult,
    run_b: o.StoredOrResult,
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
    """Compare two runs task by task on the episodes of both: B minus A, its interval, and Holm's p-value.

    Both are of one kind: records of `wmel run`, folders of `wmel cpg`, or of studies. OUTPUT is a .json file.
    """
    check_outputs(output)
    for one in (run_a, run_b):
        if not isinstance(one, Path | str | Result):
            raise BadInput(f"`wmel compare` takes paths or results, got {one!r}")
    if fail_if_worse is not None and not 0 < fail_if_worse <= 1:
        raise BadInput(f"--fail-if-worse takes a drop of success in (0, 1], got {fail_if_worse:g}")
    paths = [os.path.realpath(one) for one in (run_a, run_b) if not isinstance(one, Result)]
    if output is not None and os.path.realpath(output) in paths:
        raise BadInput(f"--output would overwrite what is compared: {output}")
    if output is not None:
        refuse_other_kind(Path(output), "comparison")
    a, b = _side(run_a), _side(run_b)
    if a.kind != b.kind:
        kinds = f"{_name_side(run_a)} is {a.kind} and {_name_side(run_b)} is {b.kind}"
        raise BadInput(f"{kinds}: both sides must be of one kind (the record of an arm is a run)")
    if a.kind == RUN:  # two records are one task, whatever they say
        b = replace(b, tasks=dict(zip(a.tasks, b.tasks.values(), strict=True)))
    deltas = paired_deltas(a.tasks, b.tasks)
    if fail_if_worse is not None and all(delta.outcomes is None for delta in deltas.tasks):
        raise BadInput("--fail-if-worse needs a criterion of success, and these runs had none")
    notes = [*(f"A: {note}" for note in a.notes), *(f"B: {note}" for note in b.notes)]
    record = comparison_record(deltas, _name_side(run_a), _name_side(run_b), notes=notes, bound=fail_if_worse)
    result = recorded_result(record)
    result.files = write_outputs(result, record_outputs(result, None if output is None else Path(output), None))
    return result


def recorded_result(record: ComparisonRecord) -> Result:
    """The result from its record."""
    failures, unshown, code = _judgement(record)
    rows = [
        {"task": one.task, "a": one.success_rate_a, "b": one.success_rate_b, "difference": one.success_delta.value,
         "low": one.success_delta.low, "high": one.success_delta.high, "pairs": one.pairs, "p_holm": one.shown_p_holm,
         "improvement": None if one.improvement is None else one.improvement.value}
        for one in record.tasks
    ]  # fmt: skip
    return Result(
        compare_answer(record),
        rows,
        record,
        exit_code=code,
        verb="compare",
        document=lambda: compare_document(record, unshown),
        failures=failures,
        draw=partial(draw_figure, "figures:differences_figure", record),
    )


def _side(side: Path | str | Result) -> Side:
    result = side if isinstance(side, Result) else load(side)
    if result.verb == "run":
        return Side(RUN, {result.run.environment_name: result.run})
    if result.verb == "cpg" and "arms" in result.more:
        return Side(CPG, result.arms.by_name, () if result.arms.cap is None else (EARLY,))
    if result.verb == "sweep":
        points = {", ".join(f"{name} {value}" for name, value in at.swept.items()): at.run for at in result.points}
        return Side(SWEEP, points)
    if result.verb == "study" and result.store is not None:
        return _study(load_study(result.store))
    takes = "`wmel compare` takes runs, sweeps, gaps and studies"
    raise BadRecord(f"{_name_side(side)} holds no episodes to compare: {takes}")


def _name_side(side: Path | str | Result) -> str:
    """What a side is called: its place, or its answer where it has none."""
    if not isinstance(side, Result):
        return str(side)
    return str(side.files.get("record") or side.folder or side.answer.removesuffix("."))


def _study(loaded: LoadedStudy) -> Side:
    """Arms with their seeds pooled."""
    results, groups = loaded.results, {}
    for one in results:
        if one.run is not None:
            groups.setdefault(one.cell.label, []).append(one.run)
    tasks, notes = {}, []
    for task, runs in groups.items():
        try:
            tasks[task] = pool_runs(runs)
        except BadInput as error:
            notes.append(f"{task}: {error}")
    missing = sum(one.missing for one in results)
    notes += [f"{missing} episodes of the study are not stored"] if missing else []
    return Side(STUDY, tasks, (*([EARLY] if loaded.anytime else []), *loaded.damaged, *notes))


def _judgement(record: ComparisonRecord) -> tuple[list[str], list[str], int]:
    """What fails, what so many pairs do not show, and the exit code: 1 where B is worse or cannot be judged."""
    if record.fail_if_worse is None:
        return [], [], 0
    failures: list[str] = []
    notes: list[str] = []
    bound, worse = record.fail_if_worse.bound, record.fail_if_worse.worse
    for one in record.tasks:
        delta, p_value, least = one.success_delta.value, one.shown_p_holm, one.smallest_drop_shown
        if one.task in worse:
            lower = f"{one.task}: success is lower in B by {abs(delta or 0):.3f}, where a drop of {bound:g} fails"
            failures.append(f"{lower} (Holm's p {p_value:.2g})")
        elif p_value is not None and (least is None or least > bound):
            could = f"no drop would be shown by {one.pairs} pairs" if one.success_rate_a else "A never succeeds"
            if least is not None:
                could = f"{one.pairs} pairs show a drop from {least:.2f} on (80% power)"
            notes.append(
                f"{one.task}: a drop of {bound:g} is not shown, which does not prove that there is none: {could}"
            )
    unjudged = [*record.refused, *record.only_in_a, *(one.task for one in record.tasks if one.shown_p_holm is None)]
    if unjudged:
        failures.append(f"could not judge a drop of {bound:g} of {'; '.join(unjudged)}")
    return failures, notes, 1 if worse or unjudged else 0
