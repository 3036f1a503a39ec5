"""wmel.sweep: one policy over the values of any settings, and how settings enter the entries of a study."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Unpack

from wmel.analysis.horizon import check_epsilon
from wmel.analysis.scorecard import Scorecard, metric_data
from wmel.api import options as o
from wmel.api.episodes import (
    check_outputs,
    record_path,
    result_of_runs,
    run_episodes,
    task_data,
    write_files,
)
from wmel.api.given import KINDS, Given, has_its_settings
from wmel.api.objects import model_settings, parse_model_setting
from wmel.api.run import arm_data
from wmel.api.verbs import setting_pairs, verb
from wmel.catalog import POLICIES
from wmel.contract.cell import Cell, CellResult, label_columns
from wmel.errors import BadInput, BadRecord, suggest_name
from wmel.experiments.keys import ENTRY_SETTINGS, check_entry_settings
from wmel.experiments.load import LoadedStudy
from wmel.experiments.spec import find_sweeps, format_value
from wmel.experiments.store import Store
from wmel.reports.any_record import FILES
from wmel.reports.document import draw_figure
from wmel.reports.json_envelope import SweepRecord
from wmel.reports.records import recorded_points, recorded_sweep, sweep_record
from wmel.reports.run_report import sweep_answer, sweep_document
from wmel.results import Result
from wmel.schema import Run, SweepPoint, concatenate_tables, pool_runs
from wmel.values import parse_value

LISTS = {  # kind -> the list of a study that holds parts of it
    "environment": "environments",
    "planner": "planners",
    "policy": "policies",
    "objective": "objectives",
    "perturbation": "perturbations",
    "criterion": "criteria",
    "model": "models",
    "trainer": "models",
    "diagnostic": "diagnostics",
    "metric": "metrics",
}
METRIC = "metric"  # computed from the same rows: each value is a metric of its own, and no point
NOT_SWEPT = {"executor": "the executor changes no row"}


@dataclass(frozen=True)
class Swept:
    """A setting and its values."""

    kind: str
    name: str
    values: list[Any]

    @property
    def setting(self) -> str:
        """What labels are of: the settings of a trainer are keys of its model."""
        return f"{'model' if self.kind == 'trainer' else self.kind}.{self.name}"


def read_sweeps(sweep: Any) -> list[Swept]:
    """Sweeps as {"planner.elites": [4, 8]}, or as texts such as planner.elites=4,8; lists are separated by `;`."""
    if sweep is not None and not isinstance(sweep, Mapping | list | tuple):
        raise BadInput(f'what is swept is a mapping such as {{"planner.elites": [4, 8]}}, got {sweep!r}')
    return [_read_sweep(str(key), values) for key, values in setting_pairs(sweep).items()]


def put_sweeps(data: dict[str, Any], sweeps: Sequence[Swept], given: Given) -> None:
    """Put the values into the entries of a study; metrics are added to the settings that were given."""
    for one in sweeps:
        if one.kind == METRIC:
            given.settings[METRIC][one.name] = {"sweep": [_guess(value) for value in one.values]}
            continue
        entry = _swept_entry(data, one.kind)
        if entry is None:
            has_planner = one.kind == "policy" and data.get("planners")
            way_out = f", and there is a planner: write planner.{one.name}" if has_planner else ""
            raise BadInput(f"there is no {one.kind} to sweep {one.name} of{way_out}")
        if (one.kind, one.name) == ("perturbation", "probability"):
            entry.setdefault("name", "env-default")  # as where a share alone is given
        if entry.get("given") and one.name not in ENTRY_SETTINGS.get(one.kind, ()):
            raise BadInput(has_its_settings(one.kind, one.name))
        if one.name in entry and one.name not in given.by_preset.get(one.kind, ()):
            raise BadInput(f"{one.kind}.{one.name} is given and swept: leave out {entry[one.name]!r}, or the sweep")
        parsed = [_value(one.kind, entry, one.name, value) for value in one.values]
        if any(value in parsed[:number] for number, value in enumerate(parsed)):
            raise BadInput(f"the values of {one.kind}.{one.name} must differ, got {', '.join(map(str, one.values))}")
        entry[one.name] = {"sweep": parsed}


def with_settings(data: Mapping[str, Any], given: Given) -> dict[str, Any]:
    """A study with the settings given beside it, in every entry whose part has them; they replace those it states."""
    changed = {**data}
    for kind, settings in given.settings.items():
        for name, value in settings.items() if kind in LISTS else ():
            listed = changed.get(LISTS[kind])
            tables = [_as_table(kind, one) for one in listed] if isinstance(listed, list | tuple) else []
            fitting = [place for place, one in enumerate(tables) if _takes(kind, one, name)]
            if not fitting:
                known = {known for one in tables for known in _settings_of(kind, one)}
                raise BadInput(
                    f"no {kind} of the study has a setting '{name}';{suggest_name(name, sorted(known), 'it takes')}"
                )
            for place in fitting:
                _refuse_swept(kind, name, value, tables[place], place)
                tables[place] = {**tables[place], name: _value(kind, tables[place], name, value)}
            changed[LISTS[kind]] = tables
            given.used.add(kind)
    return changed


def _as_table(kind: str, entry: Any) -> Any:
    """An entry of a study as a table, where it is a name; a metric's name has its settings: success@20."""
    if not isinstance(entry, str):
        return entry
    return metric_data(entry) if kind == METRIC else {"name": entry}


def _refuse_swept(kind: str, name: str, value: Any, entry: Mapping[str, Any], place: int) -> None:
    """Raises BadInput for a setting that an entry of the study sweeps."""
    swept = dict(find_sweeps(entry)).get(name)
    if swept is not None:
        raise BadInput(
            f"{kind}.{name} = {value} is given, and {LISTS[kind]}[{place}] of the study, '{entry.get('name')}', "
            f"sweeps it over {format_value(swept)}: leave out one of them"
        )


def _takes(kind: str, entry: Any, name: str) -> bool:
    return isinstance(entry, Mapping) and name in {*entry, *_settings_of(kind, entry)}


def _settings_of(kind: str, entry: Any) -> set[str]:
    """The settings that the part of an entry takes; of an entry that is refused later, none."""
    if not isinstance(entry, Mapping):
        return set()
    if kind in ("model", "trainer"):
        return model_settings(entry)
    part, registry = entry.get("name"), KINDS[kind]
    assert registry is not None
    own = registry.settings_of(part) if isinstance(part, str) and not entry.get("given") else ()
    return {*own, *ENTRY_SETTINGS.get(kind, ())}


def _read_sweep(key: str, values: Any) -> Swept:
    kind, dot, name = ("criterion", ".", key) if key == "criterion" else key.partition(".")
    if kind in NOT_SWEPT:
        raise BadInput(f"{key} cannot be swept: {NOT_SWEPT[kind]}")
    if not dot and kind in LISTS:
        several = LISTS[kind]
        raise BadInput(f"settings are swept, as {kind}.NAME, and parts are not: a study compares several {several}")
    if not dot or kind not in LISTS or not name:
        raise BadInput(f"what is swept is written as KIND.NAME, got {key!r};{suggest_name(kind, LISTS, 'kinds:')}")
    if not isinstance(values, Iterable):
        raise BadInput(f"a sweep of {key} takes a list of values, got {values!r}")
    if isinstance(values, str):
        values = _split(values)
    listed = list(values)
    if not listed:
        raise BadInput(f"a sweep of {key} needs at least one value, got none")
    return Swept(kind, name, listed)


def _split(values: str) -> list[str]:
    """Values as they were typed, separated by `;` or by commas that are in no bracket; brackets hold a list."""
    found = values.split(";") if ";" in values else re.split(r",(?![^\[]*\])", values)
    return [text.strip().removeprefix("[").removesuffix("]") for text in found if text.strip()]


def _swept_entry(data: Mapping[str, Any], kind: str) -> dict[str, Any] | None:
    """The table of the part of a kind; the policy of a model is a table within it."""
    listed = [*(data.get(LISTS[kind]) or [])]
    if kind == "policy":
        listed += [one["policy"] for one in data["models"] if "policy" in one]
    if kind == "trainer":
        listed = [one for one in listed if "trainer" in one]
    return listed[0] if listed else None


def _value(kind: str, entry: Mapping[str, Any], name: str, value: Any) -> Any:
    """A swept value as the part takes it, where it was typed."""
    part = entry.get("name")
    if name in ENTRY_SETTINGS.get(kind, ()):
        return check_entry_settings(kind, part, {name: value}, is_typed=True)[name]
    if kind in ("model", "trainer"):
        return parse_model_setting(entry, name, value)
    if kind == "criterion" or not isinstance(value, str) or part is None:
        return value
    registry = KINDS[kind]
    assert registry is not None
    return registry.parse(part, {name: value})[name]


def _guess(value: Any) -> Any:
    return parse_value(None, value) if isinstance(value, str) else value


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
    given = Given.of_options(options)
    record_file = record_path(options["output"], FILES["sweep"])
    check_outputs(record_file, markdown)
    if sweep is None and plan_horizons is None and "plan_horizon" in given.settings["planner"]:
        raise BadInput("a sweep is over plan_horizon, which is given: leave it out, or sweep another setting (--sweep)")
    swept = _all_sweeps(sweep, plan_horizons)
    if any(one.kind == "diagnostic" for one in swept):
        raise BadInput("settings of a diagnostic are swept by `wmel diagnose NAME --sweep`, or by a study")
    task, scored = task_data(given, environment, options), any(one.kind == "objective" for one in swept)
    arm = arm_data(given, policy, model, options["objective"], task["environments"][0], sweeps_objective=scored)
    data = {"name": "sweep", "oracle": False, "floor": False, **task, **arm}
    if not arm["planners"]:
        swept = [_of_policy(one, policy) for one in swept]
    put_sweeps(data, swept, given)
    points = [one.setting for one in swept if one.kind != METRIC]
    stored = {"name": "sweep", "swept": points, "epsilon": epsilon}
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
    groups: dict[tuple[Any, ...], dict[int, Run]] = {}
    for one in results:
        if one.run is not None:
            groups.setdefault(tuple(one.cell.labels[label] for label in names), {})[one.cell.seed] = one.run
    seeds = list(dict.fromkeys(seed for runs in groups.values() for seed in runs))
    counts = {seed: min(len(runs[seed].table) if seed in runs else 0 for runs in groups.values()) for seed in seeds}
    if not any(counts.values()):
        raise BadRecord("no two points of this sweep have an episode in common yet: run the same command again")
    points = [
        SweepPoint(
            dict(zip(names.values(), at, strict=True)),
            pool_runs([_first_episodes(runs[seed], count) for seed, count in counts.items() if count]),
        )
        for at, runs in groups.items()
    ]
    return sorted(points, key=lambda point: [_rank(at) for at in point.swept.values()])


def _first_episodes(run: Run, count: int) -> Run:
    """A run without the episodes after the first `count`."""
    return run if len(run.table) == count else replace(run, table=run.table.first(count))


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
