"""wmel.sweep: one policy over the values of any settings, and the planning horizon that is enough."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from wmel.analysis.horizon import check_epsilon
from wmel.api import options as o
from wmel.api.episodes import (
    build_executor,
    check_outputs,
    common_failure,
    folder_of,
    kept_store,
    metric_names,
    run_and_load,
    store_for,
    task_data,
    verb,
    whole_results,
)
from wmel.api.given import BEYOND, KINDS, Given, parse_execute
from wmel.api.run import arm_data
from wmel.contract.cell import Cell, CellResult
from wmel.errors import BadInput
from wmel.experiments.load import LoadedStudy
from wmel.experiments.run import RunOptions
from wmel.experiments.store import Store
from wmel.files import write_atomically
from wmel.parts import nearest
from wmel.reports.any_record import FILES
from wmel.reports.json_envelope import SweepRecord
from wmel.reports.markdown import to_markdown_horizon_sweep
from wmel.reports.records import recorded_points, recorded_sweep, sweep_record, write_record
from wmel.reports.terminal import sweep_lines
from wmel.reports.words import answer_of_sweep
from wmel.results import Result
from wmel.schema import SweepPoint, pooled, stacked

RECORD = FILES["sweep"]
PLAN_HORIZONS = (5, 10, 15, 20, 30)
LISTS = {
    "environment": "environments",
    "planner": "planners",
    "policy": "policies",
    "objective": "objectives",
    "perturbation": "perturbations",
    "model": "models",
}


@verb
def sweep(
    environment: o.Environment = "maze_toy",
    policy: o.Policy = "tabular-world-model",
    *,
    plan_horizons: Annotated[
        Sequence[int] | None,
        o.Option(
            f"Planning horizons, separated by commas.  [default: {','.join(map(str, PLAN_HORIZONS))}, unless --sweep "
            "is given]",
            "wholes",
        ),
    ] = None,
    sweep: Annotated[
        Mapping[str, Sequence[Any]] | None,
        o.Option(
            "Values of any setting: planner.elites=4,8,12; may be given several times.",
            "texts",
            metavar="KIND.NAME=A,B",
        ),
    ] = None,
    model: o.Model = None,
    objective: o.Objective = None,
    execute: o.Execute = None,
    episodes: o.Episodes = None,
    seeds: o.Seeds = 0,
    horizon: o.Horizon = None,
    criterion: o.Criterion = None,
    stop: o.Stop = None,
    epsilon: Annotated[float, o.Option("Success a longer horizon must add to count as better.", "number")] = 0.01,
    perturbation: o.Perturbation = None,
    perturb_prob: o.PerturbProb = None,
    perturb_step: o.PerturbStep = None,
    metrics: o.Metrics = (),
    settings: o.Settings = None,
    preset: o.Preset = None,
    device: o.Device = None,
    rollout: o.Rollout = None,
    executor: o.Executor = "serial",
    workers: o.Workers = None,
    output: o.Output = None,
    markdown: o.Markdown = None,
    quiet: o.Quiet = False,
) -> Result:
    """Sweep the planning horizon, or any settings, of a policy; the same episodes at every point."""
    check_epsilon(epsilon)
    given = Given.of(settings, preset, model={"rollout": rollout, "device": device}, planner={"execute": execute})
    record_file = None if output is None else Path(output) if Path(output).suffix == ".json" else Path(output) / RECORD
    check_outputs(record_file, markdown)
    swept = _swept(sweep, plan_horizons)
    data = {
        "name": "sweep",
        "oracle": False,
        "floor": False,
        "block": 50 if output is not None else 512,
        "metrics": metric_names(given, metrics, None),
        **task_data(
            given,
            environment,
            episodes=episodes,
            seeds=seeds,
            horizon=horizon,
            criterion=criterion,
            stop=stop,
            perturbation=perturbation,
            perturb_prob=perturb_prob,
            perturb_step=perturb_step,
        ),
        **arm_data(given, policy, model, objective),
    }
    _spread(data, swept)
    study = replace(given.study(data), verb={"name": "sweep", "swept": list(swept), "epsilon": epsilon})
    how = RunOptions(
        executor=build_executor(given, executor, workers),
        device=given.settings["model"].get("device") or "cpu",
        when_changed="rerun",
        needs_criterion=False,
    )
    title = f"{policy if isinstance(policy, str) else type(policy).__name__} in {data['environments'][0]['name']}"
    with store_for(None if output is None else Path(output)) as store:
        loaded, summary = run_and_load(study, store, how, title=title, quiet=quiet)
        whole_results(loaded, summary)
        result = stored_sweep(loaded, kept_store(store))
        if record_file is not None:
            write_record(record_file, result.record)
    if markdown is not None:
        write_atomically(Path(markdown), to_markdown_horizon_sweep(result.sweep))
    files = {"record": record_file, "table": markdown}
    result.files = {name: Path(path) for name, path in files.items() if path is not None}
    result.failures = result.failures or summary.failures
    result.exit_code = 1 if result.failures else 0
    return result


def stored_sweep(loaded: LoadedStudy, store: Store) -> Result:
    """The result of a sweep from its stored rows."""
    cell = loaded.results[0].cell
    points = sweep_points(loaded.results, _labels(cell, loaded.verb["swept"]))
    how = {"epsilon": loaded.verb["epsilon"], "metrics": loaded.metrics, "environment": cell.task.environment["name"]}
    record = sweep_record(points, **how)
    return _result(points, record, store)


def recorded_result(record: SweepRecord) -> Result:
    """The result of a sweep from its record."""
    return _result(recorded_points(record), record, None)


def _result(points: list[SweepPoint], record: SweepRecord, store: Store | None) -> Result:
    curve = recorded_sweep(record)
    broken = common_failure(stacked([point.run.table for point in points]))
    rows = [
        {**point.swept, "success": card["success_rate"].value, "low": card["success_rate"].low,
         "high": card["success_rate"].high, "steps": card["average_steps_to_success"].value,
         "latency_ms": card["average_planning_latency_ms"].value,
         "compute_per_decision": card["average_compute_per_decision"].value}
        for point, card in zip(points, curve.scorecards, strict=True)
    ]  # fmt: skip
    return Result(
        answer_of_sweep(record),
        rows,
        record,
        sweep_lines(record, curve),
        1 if broken else 0,
        "sweep",
        folder_of(store),
        store,
        failures=[broken] if broken else [],
        draw=lambda: draw_sweep(record),
        markdown=lambda: to_markdown_horizon_sweep(curve),
        more={"points": points, "sweep": curve, "effective_horizon": curve.effective_horizon},
    )


def sweep_points(results: Sequence[CellResult], names: Sequence[str]) -> list[SweepPoint]:
    """The points of a sweep, seeds pooled, in rising order of what is swept."""
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for one in results:
        if one.run is not None:
            groups.setdefault(tuple(one.cell.labels[name] for name in names), []).append(one.run)
    points = [SweepPoint(dict(zip(names, at, strict=True)), pooled(runs)) for at, runs in groups.items()]
    return sorted(points, key=lambda point: [_rank(at) for at in point.swept.values()])


def _rank(value: Any) -> tuple[int, Any]:
    """None comes first, then numbers, then words."""
    return (0, 0) if value is None else (2, value) if isinstance(value, str) else (1, value)


def _labels(cell: Cell, settings: Sequence[str]) -> list[str]:
    """What the study calls the swept settings, in their order."""
    called = {setting: label for label, setting in cell.sweeps.items()}
    return [called[setting] for setting in settings]


def _swept(sweep: Mapping[str, Sequence[Any]] | None, plan_horizons: Sequence[int] | None) -> dict[str, Any]:
    """What is swept: `kind.name` -> (kind, name, values)."""
    found: dict[str, tuple[str, str, list[Any]]] = {}
    if sweep is not None and not isinstance(sweep, Mapping):
        raise BadInput(f'what is swept is a mapping such as {{"planner.elites": [4, 8]}}, got {sweep!r}')
    given = dict(sweep or {})
    if plan_horizons is not None or not given:
        if "planner.plan_horizon" in given:
            raise BadInput("planner.plan_horizon is given twice: by plan_horizons and by sweep")
        given["planner.plan_horizon"] = PLAN_HORIZONS if plan_horizons is None else plan_horizons
    for key, values in given.items():
        kind, dot, name = str(key).partition(".")
        if not dot or kind not in LISTS or not name:
            raise BadInput(f"what is swept is written as KIND.NAME, got {key!r};{nearest(kind, LISTS, 'kinds:')}")
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise BadInput(f"a sweep of {key} takes a list of values, got {values!r}")
        values = list(values)
        if not values:
            raise BadInput(f"a sweep of {key} needs at least one value, got none")
        if len({str(value) for value in values}) < len(values):
            raise BadInput(f"the values of {key} must differ, got {values}")
        found[key] = kind, name, values
    return found


def _spread(data: dict[str, Any], swept: Mapping[str, tuple[str, str, list[Any]]]) -> None:
    """Put the values into the entries of the study."""
    for kind, name, values in swept.values():
        entries = data.get(LISTS[kind]) or []
        if not entries:
            raise BadInput(f"there is no {kind} to sweep {name} of")
        if name in entries[0]:
            raise BadInput(f"{kind}.{name} is given and swept: give one")
        entries[0][name] = {"sweep": [_value(kind, entries[0].get("name"), name, one) for one in values]}


def _value(kind: str, part: str | None, name: str, value: Any) -> Any:
    """A swept value as the part takes it, where it was typed."""
    registry = KINDS[kind]
    if name in BEYOND.get(kind, ()):
        return parse_execute(value)
    if not isinstance(value, str) or registry is None or part is None:
        return value
    return registry.parse(part, {name: value})[name]


def draw_sweep(record: Any) -> Any:
    """Success over what was swept."""
    from wmel.reports.document import plotly_needed

    with plotly_needed():
        from wmel.reports.figures import sweep_figure
    return sweep_figure(record)
