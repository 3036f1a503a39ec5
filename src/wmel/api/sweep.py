"""wmel.sweep: one policy over the values of any settings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Unpack

from wmel.analysis.horizon import check_epsilon
from wmel.analysis.scorecard import Scorecard
from wmel.api import options as o
from wmel.api.episodes import (
    check_outputs,
    record_path,
    result_of_runs,
    run_episodes,
    task_data,
    write_files,
)
from wmel.api.run import arm_data
from wmel.api.study_entries import EntryBuilder
from wmel.api.sweep_keys import METRIC, Swept, put_sweeps, read_sweeps
from wmel.api.verbs import verb
from wmel.catalog import POLICIES
from wmel.contract.cell import Cell, CellResult, label_columns
from wmel.errors import BadInput, BadRecord
from wmel.experiments.load import LoadedStudy
from wmel.experiments.store import Store
from wmel.reports.document import draw_figure
from wmel.reports.record_types import SweepRecord
from wmel.reports.records import FILES, recorded_points, recorded_sweep, sweep_record
from wmel.reports.run_report import sweep_answer, sweep_document
from wmel.results import Result
from wmel.schema import Run, SweepPoint, concatenate_tables, pool_runs

PLAN_HORIZONS = (5, 10, 15, 20, 30)
SUMMARY = ("success", "low", "high", "steps", "latency_ms", "compute_per_decision")  # columns of the table


@verb
def sweep(
    environment: o.Environment = "maze_toy",
    policy: o.Policy = "tabular-world-model",
    *,
    plan_horizons: Annotated[
        Sequence[int] | str | None,
        o.Option(
            f"Planning horizons, separated by commas.  [default: {','.join(map(str, PLAN_HORIZONS))}, unless --sweep "
            "is given]",
            "wholes",
        ),
    ] = None,
    sweep: o.Sweep = None,
    model: o.Model = None,
    epsilon: Annotated[float, o.Option("Success a longer horizon must add to count as better.", "number")] = 0.01,
    markdown: o.Markdown = None,
    **options: Unpack[o.EpisodeOptions],
) -> Result:
    """Sweep the planning horizon, or any settings, of a policy; the same episodes at every point."""
    check_epsilon(epsilon)
    builder = EntryBuilder.of_options(options)
    record_file = record_path(options["output"], FILES["sweep"])
    check_outputs(record_file, markdown)
    if sweep is None and plan_horizons is None and "plan_horizon" in builder.settings["planner"]:
        raise BadInput("a sweep is over plan_horizon, which is given: leave it out, or sweep another setting (--sweep)")
    swept = _all_sweeps(sweep, plan_horizons)
    if any(one.kind == "diagnostic" for one in swept):
        raise BadInput("settings of a diagnostic are swept by `wmel diagnose NAME --sweep`, or by a study")
    task, scored = task_data(builder, environment, options), any(one.kind == "objective" for one in swept)
    arm = arm_data(builder, policy, model, options["objective"], task["environments"][0], sweeps_objective=scored)
    data = {"name": "sweep", "oracle": False, "floor": False, **task, **arm}
    if not arm["planners"]:
        swept = [_of_policy(one, policy) for one in swept]
    put_sweeps(data, swept, builder)
    points = [one.setting for one in swept if one.kind != METRIC]
    stored = {"name": "sweep", "swept": points, "epsilon": epsilon}
    write = partial(write_files, record=record_file, markdown=markdown)
    return run_episodes(builder, data, options, stored, stored_sweep, write=write)


def stored_sweep(loaded: LoadedStudy, store: Store) -> Result:
    """The result of a sweep from its stored rows."""
    cell = loaded.results[0].cell
    points = sweep_points(loaded.results, _labels(cell, loaded.verb["swept"], (*SUMMARY, *loaded.metrics)))
    record = sweep_record(
        points,
        epsilon=loaded.verb["epsilon"],
        metrics=loaded.metrics,
        environment=cell.task.environment["name"],
        rewards=bool(loaded.verb.get("rewards")),
    )
    return _result(points, record, store)


def recorded_result(record: SweepRecord) -> Result:
    """The result of a sweep from its record."""
    return _result(recorded_points(record), record, None)


def _result(points: list[SweepPoint], record: SweepRecord, store: Store | None) -> Result:
    curve = recorded_sweep(record)
    places = label_columns([point.swept for point in points], {}, SUMMARY)
    rows = [{**at, **_summary(card)} for at, card in zip(places, curve.scorecards, strict=True)]
    return result_of_runs(
        [concatenate_tables([point.run.table for point in points])],
        store,
        answer=sweep_answer(record),
        rows=rows,
        record=record,
        verb="sweep",
        draw=partial(draw_figure, "figures:sweep_figure", record),
        document=lambda: sweep_document(record, curve),
        more={"points": points, "sweep": curve, "effective_horizon": curve.effective_horizon},
    )


def _summary(card: Scorecard) -> dict[str, Any]:
    success = card["success_rate"]
    costs = ("average_steps_to_success", "average_planning_latency_ms", "average_compute_per_decision")
    values = (success.value, success.low, success.high, *(card[name].value for name in costs))
    return dict(zip(SUMMARY, values, strict=True))


def sweep_points(results: Sequence[CellResult], names: Mapping[str, str]) -> list[SweepPoint]:
    """The points of a sweep, seeds pooled, in rising order of what is swept; `names` are the names of its labels.

    Points are compared on the same episodes: of a seed, all have as many as the point with the fewest.
    """
    groups: dict[tuple[Any, ...], dict[int, CellResult]] = {}
    for one in results:
        if one.run is not None:
            groups.setdefault(tuple(one.cell.labels[label] for label in names), {})[one.cell.seed] = one
    seeds = list(dict.fromkeys(seed for found in groups.values() for seed in found))
    counts = {
        seed: min(one.cell.episodes - one.missing if (one := found.get(seed)) else 0 for found in groups.values())
        for seed in seeds
    }
    if not any(counts.values()):
        raise BadRecord("no two points of this sweep have an episode in common yet: run the same command again")
    points = [
        SweepPoint(
            dict(zip(names.values(), at, strict=True)),
            _pool_first_episodes([(found[seed], count) for seed, count in counts.items() if count]),
        )
        for at, found in groups.items()
    ]
    return sorted(points, key=lambda point: [_rank(at) for at in point.swept.values()])


def _pool_first_episodes(parts: Sequence[tuple[CellResult, int]]) -> Run:
    """The runs of a point without the episodes after the given counts.

    It has no coverage if a count lies within a block, as that of a part of a block is not stored.
    """
    run = pool_runs([_first_episodes(one, count) for one, count in parts])
    is_known = all(one.run is None or count in (len(one.run.table), *one.coverages) for one, count in parts)
    return run if is_known else replace(run, coverage=None)


def _first_episodes(one: CellResult, count: int) -> Run:
    """The run of a cell without the episodes after the first `count`."""
    assert one.run is not None
    if len(one.run.table) == count:
        return one.run
    return replace(one.run, table=one.run.table.first(count), coverage=one.coverages.get(count))


def _rank(value: Any) -> tuple[int, Any]:
    """None comes first, then numbers, then words."""
    return (0, 0) if value is None else (2, value) if isinstance(value, str) else (1, value)


def _labels(cell: Cell, settings: Sequence[str], taken: Sequence[str]) -> dict[str, str]:
    """The labels of the swept settings, in their order; one whose name is taken is called by its kind too."""
    column_of = {setting: label for label, setting in cell.sweeps.items()}
    return {column_of[setting]: setting if column_of[setting] in taken else column_of[setting] for setting in settings}


def _of_policy(one: Swept, policy: Any) -> Swept:
    """A sweep of a planner's setting that a policy has too, such as plan_horizon of `native`, is one of the policy."""
    name = policy if isinstance(policy, str) else policy.get("name") if isinstance(policy, Mapping) else None
    is_own = one.kind == "planner" and isinstance(name, str) and one.name in POLICIES.settings_of(name)
    return replace(one, kind="policy") if is_own else one


def _all_sweeps(sweep: Any, plan_horizons: Any) -> list[Swept]:
    """What is swept; planning horizons, unless some other setting is. Where only metrics are, there is one point."""
    found = read_sweeps(sweep)
    if plan_horizons is None and found:
        return found
    if any((one.kind, one.name) == ("planner", "plan_horizon") for one in found):
        raise BadInput("planner.plan_horizon is given twice: by plan_horizons and by sweep")
    horizons = PLAN_HORIZONS if plan_horizons is None else plan_horizons
    return [*found, *read_sweeps({"planner.plan_horizon": horizons})]
