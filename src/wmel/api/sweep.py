"""wmel.sweep: one policy over the values of any settings, and the planning horizon that is enough."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Unpack

from wmel.analysis.horizon import check_epsilon
from wmel.analysis.scorecard import Scorecard
from wmel.api import options as o
from wmel.api.episodes import (
    check_outputs,
    common_failure,
    folder_of,
    record_path,
    run_episodes,
    task_data,
    write_files,
)
from wmel.api.given import KINDS, Given, has_its_settings, parse_model_setting
from wmel.api.run import arm_data
from wmel.api.verbs import setting_pairs, verb
from wmel.contract.cell import Cell, CellResult
from wmel.contract.labels import label_columns
from wmel.errors import BadInput
from wmel.experiments.keys import BESIDE, check_beside
from wmel.experiments.load import LoadedStudy
from wmel.experiments.store import Store
from wmel.parts import nearest
from wmel.reports.any_record import FILES
from wmel.reports.json_envelope import SweepRecord
from wmel.reports.markdown import to_markdown_horizon_sweep
from wmel.reports.records import recorded_points, recorded_sweep, sweep_record
from wmel.reports.terminal import sweep_lines
from wmel.reports.words import answer_of_sweep
from wmel.results import Result, figure_of
from wmel.schema import SweepPoint, pooled, stacked

PLAN_HORIZONS = (5, 10, 15, 20, 30)
LISTS = {
    "environment": "environments",
    "planner": "planners",
    "policy": "policies",
    "objective": "objectives",
    "perturbation": "perturbations",
    "model": "models",
}
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
    sweep: Annotated[
        Mapping[str, Sequence[Any] | str] | Sequence[str] | None,
        o.Option(
            "Values of any setting: planner.elites=4,8,12; may be given several times.",
            "texts",
            metavar="KIND.NAME=A,B",
        ),
    ] = None,
    model: o.Model = None,
    epsilon: Annotated[float, o.Option("Success a longer horizon must add to count as better.", "number")] = 0.01,
    markdown: o.Markdown = None,
    **options: Unpack[o.EpisodeOptions],
) -> Result:
    """Sweep the planning horizon, or any settings, of a policy; the same episodes at every point."""
    check_epsilon(epsilon)
    given = Given.of_options(options)
    record_file = record_path(options["output"], FILES["sweep"])
    check_outputs(record_file, markdown)
    swept = _swept(sweep, plan_horizons)
    task, scored = task_data(given, environment, options), any(kind == "objective" for kind, *_ in swept.values())
    arm = arm_data(given, policy, model, options["objective"], task["environments"][0], sweeps_objective=scored)
    data = {"name": "sweep", "oracle": False, "floor": False, **task, **arm}
    _spread(data, swept, given)
    stored = {"name": "sweep", "swept": list(swept), "epsilon": epsilon}
    write = partial(write_files, record=record_file, markdown=markdown)
    return run_episodes(given, data, options, stored, stored_sweep, write=write)


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
    broken = common_failure(stacked([point.run.table for point in points]))
    places = label_columns([point.swept for point in points], {}, SUMMARY)
    rows = [{**at, **_summary(card)} for at, card in zip(places, curve.scorecards, strict=True)]
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
        draw=figure_of("figures:sweep_figure", record),
        markdown=lambda: to_markdown_horizon_sweep(curve),
        more={"points": points, "sweep": curve, "effective_horizon": curve.effective_horizon},
    )


def _summary(card: Scorecard) -> dict[str, Any]:
    success = card["success_rate"]
    costs = ("average_steps_to_success", "average_planning_latency_ms", "average_compute_per_decision")
    values = (success.value, success.low, success.high, *(card[name].value for name in costs))
    return dict(zip(SUMMARY, values, strict=True))


def sweep_points(results: Sequence[CellResult], names: Mapping[str, str]) -> list[SweepPoint]:
    """The points of a sweep, seeds pooled, in rising order of what is swept; `names` are the names of its labels."""
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for one in results:
        if one.run is not None:
            groups.setdefault(tuple(one.cell.labels[label] for label in names), []).append(one.run)
    points = [SweepPoint(dict(zip(names.values(), at, strict=True)), pooled(runs)) for at, runs in groups.items()]
    return sorted(points, key=lambda point: [_rank(at) for at in point.swept.values()])


def _rank(value: Any) -> tuple[int, Any]:
    """None comes first, then numbers, then words."""
    return (0, 0) if value is None else (2, value) if isinstance(value, str) else (1, value)


def _labels(cell: Cell, settings: Sequence[str], taken: Sequence[str]) -> dict[str, str]:
    """The labels of the swept settings, in their order; one whose name is taken is called by its kind too."""
    called = {setting: label for label, setting in cell.sweeps.items()}
    return {called[setting]: setting if called[setting] in taken else called[setting] for setting in settings}


def _swept(sweep: Any, plan_horizons: Any) -> dict[str, Any]:
    """What is swept: `kind.name` -> (kind, name, values)."""
    found: dict[str, tuple[str, str, list[Any]]] = {}
    if sweep is not None and not isinstance(sweep, Mapping | list | tuple):
        raise BadInput(f'what is swept is a mapping such as {{"planner.elites": [4, 8]}}, got {sweep!r}')
    given = setting_pairs(sweep)
    if plan_horizons is not None or not given:
        if "planner.plan_horizon" in given:
            raise BadInput("planner.plan_horizon is given twice: by plan_horizons and by sweep")
        given["planner.plan_horizon"] = PLAN_HORIZONS if plan_horizons is None else plan_horizons
    for key, values in given.items():
        kind, dot, name = str(key).partition(".")
        if not dot or kind not in LISTS or not name:
            raise BadInput(f"what is swept is written as KIND.NAME, got {key!r};{nearest(kind, LISTS, 'kinds:')}")
        if not isinstance(values, Iterable):
            raise BadInput(f"a sweep of {key} takes a list of values, got {values!r}")
        texts = values.split(",") if isinstance(values, str) else []
        values = [text.strip() for text in texts if text.strip()] or ([] if texts else list(values))
        if not values:
            raise BadInput(f"a sweep of {key} needs at least one value, got none")
        found[key] = kind, name, values
    return found


def _spread(data: dict[str, Any], swept: Mapping[str, tuple[str, str, list[Any]]], given: Given) -> None:
    """Put the values into the entries of the study."""
    for key, (kind, name, values) in swept.items():
        entry = _swept_entry(data, kind)
        if entry is None:
            raise BadInput(f"there is no {kind} to sweep {name} of")
        if key == "perturbation.probability":
            entry.setdefault("name", "env-default")  # as where a share alone is given
        if entry.get("given") and name not in BESIDE.get(kind, ()):
            raise BadInput(has_its_settings(kind, name))
        if name in entry and name not in given.by_preset.get(kind, ()):
            raise BadInput(f"{key} is given and swept: leave out {entry[name]!r}, or the sweep")
        parsed = [_value(kind, entry, name, one) for one in values]
        if any(one in parsed[:number] for number, one in enumerate(parsed)):
            raise BadInput(f"the values of {key} must differ, got {', '.join(map(str, values))}")
        entry[name] = {"sweep": parsed}


def _swept_entry(data: Mapping[str, Any], kind: str) -> dict[str, Any] | None:
    """The table of the part of a kind; the policy of a model is a table within it."""
    listed = [*(data.get(LISTS[kind]) or [])]
    if kind == "policy":
        listed += [one["policy"] for one in data["models"] if "policy" in one]
    return listed[0] if listed else None


def _value(kind: str, entry: Mapping[str, Any], name: str, value: Any) -> Any:
    """A swept value as the part takes it, where it was typed."""
    registry, part = KINDS[kind], entry.get("name")
    if name in BESIDE.get(kind, ()):
        return check_beside(kind, part, {name: value}, is_typed=True)[name]
    if registry is None:
        return parse_model_setting(entry, name, value)
    if not isinstance(value, str) or part is None:
        return value
    return registry.parse(part, {name: value})[name]
