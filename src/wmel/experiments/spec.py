"""A study as data: TOML or a dict is read, its sweeps are expanded, and every wrong key is reported with its place."""

import json
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from wmel import catalog
from wmel.analysis.scorecard import metric, metric_texts
from wmel.catalog import PresetUse
from wmel.contract.cell import label_value
from wmel.errors import BadInput, WmelError, suggest_name, with_article
from wmel.experiments.keys import (
    CriterionKeys,
    DiagnosticKeys,
    EnvironmentKeys,
    Keys,
    ModelKeys,
    ObjectiveKeys,
    PartKeys,
    PerturbationKeys,
    PlannerKeys,
    PolicyKeys,
    StudyKeys,
)
from wmel.settings import SWEEP, suggest_sweep
from wmel.values import check_storable

GIVEN = "given"  # key of an entry whose name stands for a live part
MAX_CELLS = 100_000  # of one study
REQUIREMENTS = {  # kind of pydantic error -> what a value must be
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "literal_error": "{expected}",
    "greater_than": "above {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "below {lt}",
    "less_than_equal": "at most {le}",
    "string_too_short": "at least {min_length} character long",
    "too_short": "a list of at least {min_length} value",
}
NAME_OR_TABLE = "str"  # last key of the place of a value that is neither a name nor a table


ENTRY_KINDS = {  # list of a study -> the kind of its entries, which qualifies the settings that they sweep
    "environments": "environment",
    "models": "model",
    "planners": "planner",
    "policies": "policy",
    "objectives": "objective",
    "perturbations": "perturbation",
    "criteria": "criterion",
    "diagnostics": "diagnostic",
}


@dataclass(frozen=True, eq=False)
class StudyEntry:
    """One entry of a list after its sweeps were expanded: its keys, and the values of the swept ones."""

    keys: Any
    place: str
    swept: Mapping[str, Any] = field(default_factory=dict)  # key -> value
    labels: Mapping[str, Any] = field(default_factory=dict)  # the same by the names of columns and labels
    sweeps: Mapping[str, str] = field(default_factory=dict)  # label -> the setting it belongs to: `planner.elites`

    @property
    def kind(self) -> str:
        """The kind of its part, by the list that it stands in."""
        return ENTRY_KINDS[self.place.partition("[")[0]]


def arm_name(entry: StudyEntry) -> str:
    """The name of a model or a policy, with the values of its swept keys."""
    swept = ",".join(f"{key}={label_value(value)}" for key, value in entry.swept.items())
    return f"{entry.keys.name}[{swept}]" if swept else entry.keys.name


@dataclass(frozen=True, eq=False)
class StudySpec:
    """A study file that was read and checked."""

    study: StudyKeys
    environments: list[StudyEntry]
    models: list[StudyEntry]
    planners: list[StudyEntry]
    policies: list[StudyEntry]
    objectives: list[StudyEntry]
    perturbations: list[StudyEntry]
    criteria: list[StudyEntry]
    diagnostics: list[StudyEntry]
    path: Path | None  # paths in the study are relative to its folder; none: it is no file
    text: str
    notes: tuple[str, ...] = ()  # lines to show before it runs

    @property
    def folder(self) -> Path:
        return Path() if self.path is None else self.path.parent


LISTS: dict[str, type[Keys]] = {
    "environments": EnvironmentKeys,
    "models": ModelKeys,
    "planners": PlannerKeys,
    "policies": PolicyKeys,
    "objectives": ObjectiveKeys,
    "perturbations": PerturbationKeys,
    "criteria": CriterionKeys,
    "diagnostics": DiagnosticKeys,
}
DEFAULT_ENTRIES: dict[str, list[dict[str, Any]]] = {
    "models": [],
    "planners": [],
    "policies": [],
    "objectives": [],
    "perturbations": [{}],
    "criteria": [{}],
    "diagnostics": [],
}
PRESET_LISTS = ("environments", "planners", "policies")


def parse_study(
    data: Mapping[str, Any], text: str = "", path: Path | None = None, objects: Container[tuple[str, str]] = ()
) -> StudySpec:
    """The study of a dict; `path` is the file that messages name, and its paths are relative to it.

    `objects` are the kinds and names of live parts: only those may be marked as `given`.
    """
    if not isinstance(data, Mapping):
        raise BadInput(f"a study is a TOML file or a dict, got {format_value(data)}")
    with_place(path, "study", lambda: check_storable(data))
    top = {key: value for key, value in data.items() if key not in LISTS}
    study = _validate(StudyKeys, top, path, "")
    if study.executor is not None:
        executor = catalog.name_and_settings(study.executor, "executor")
        with_place(path, "executor", lambda: catalog.EXECUTORS.spec(*executor))
    preset = PresetUse(with_place(path, "preset", lambda: catalog.preset_settings(study.preset)))
    lists = {
        name: _entries(_with_preset(data.get(name, DEFAULT_ENTRIES.get(name)), name, preset), name, path, objects)
        for name in LISTS
    }
    notes = with_place(path, "preset", lambda: preset.notes(judges_gaps=True))
    if not (lists["planners"] or lists["policies"] or lists["diagnostics"] or _have_own_policies(lists["models"])):
        raise BadInput(f"{place_prefix(path, 'planners')}at least one is needed")
    for entry in lists["models"]:
        seeds = entry.keys.seeds
        if seeds is not None and len(seeds) not in (1, len(study.seeds)):
            place = place_prefix(path, f"models '{entry.keys.name}': seeds")
            raise BadInput(
                f"{place}{len(seeds)} seeds to train with for {len(study.seeds)} "
                "seeds of episodes: give one, or one for each"
            )
    names = [arm_name(entry) for entry in lists["models"]]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"{place_prefix(path, 'models')}two are called '{name}'")
    for named in with_place(path, "metrics", lambda: metric_texts(study.metrics)):
        with_place(path, "metrics", lambda named=named: metric(named))
    for name, entries in lists.items():
        for entry in entries:
            if isinstance(entry.keys, PartKeys):
                with_place(path, entry.place, entry.keys.refuse_taken_names)
            with_place(path, entry.place, lambda entry=entry: entry.keys.check())
        if name != "models":  # models may be equal: they have names
            _refuse_equal(entries, path)
    return StudySpec(study, path=path, text=text, notes=notes, **lists)


def _refuse_equal(entries: list[StudyEntry], path: Path | None) -> None:
    """Raises BadInput if two entries of a list mean the same."""
    found: dict[str, StudyEntry] = {}
    for entry in entries:
        other = found.setdefault(json.dumps(entry.keys.same_as, sort_keys=True, default=repr), entry)
        if other is not entry:
            at = ", ".join(f"{key} = {value!r}" for key, value in entry.swept.items())
            same = f"the same as {other.place}" if entry.place != other.place else f"{at} is swept twice"
            raise BadInput(f"{place_prefix(path, entry.place)}{same}: leave one out")


def _have_own_policies(models: list[StudyEntry]) -> bool:
    """Whether there are models and each acts by a policy of its own."""
    return bool(models) and all(entry.keys.policy is not None for entry in models)


def with_place(path: Path | None, place: str, work: Callable[[], Any]) -> Any:
    """The result of the work; its error names the place in the study."""
    try:
        return work()
    except WmelError as error:
        raise type(error)(f"{place_prefix(path, place)}{error}") from error


def _with_preset(entries: Any, name: str, preset: PresetUse) -> Any:
    """Environments, planners and policies with the settings of a preset that their own tables do not set."""
    if not preset.preset or name not in PRESET_LISTS or not isinstance(entries, list):
        return entries
    tables = [{"name": one} if isinstance(one, str) else one for one in entries]
    return [
        preset.fill_in(ENTRY_KINDS[name], one) if isinstance(one, dict) and isinstance(one.get("name"), str) else one
        for one in tables
    ]


def _entries(entries: Any, name: str, path: Path | None, objects: Container[tuple[str, str]]) -> list[StudyEntry]:
    if entries is None:
        raise BadInput(f"{place_prefix(path, name)}at least one is needed")
    if name != "models" and isinstance(entries, list):
        key = "criterion" if name == "criteria" else "name"
        entries = [{key: one} if isinstance(one, str) else one for one in entries]
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise BadInput(f"{place_prefix(path, name)}write each as a [[{name}]] table, got {format_value(entries)}")
    for place, one in enumerate(entries):
        if GIVEN in one and (ENTRY_KINDS[name], str(one.get("name"))) not in objects:
            raise BadInput(f"{place_prefix(path, f'{name}[{place}]')}'{one.get('name')}' has no setting '{GIVEN}'")
    if not entries and DEFAULT_ENTRIES.get(name) != []:
        raise BadInput(f"{place_prefix(path, name)}at least one is needed")
    return [
        StudyEntry(_validate(LISTS[name], keys, path, f"{name}[{place}]"), f"{name}[{place}]", labels)
        for place, one in enumerate(entries)
        for keys, labels in expand_sweeps(one, _checked_sweeps(one, path, f"{name}[{place}]"))
    ]


def _checked_sweeps(entry: dict[str, Any], path: Path | None, place: str) -> dict[str, Any]:
    """The sweeps of an entry: `plan_horizon = {sweep = [1, 5, 10]}` stands for three entries."""
    swept = dict(find_sweeps(entry))
    for key, values in swept.items():
        if not isinstance(values, list) or not values:
            raise BadInput(
                f"{place_prefix(path, f'{place}.{key}.sweep')}a list of at least one value, got {format_value(values)}"
            )
        if key.rpartition(".")[2] == "name":
            raise BadInput(f"{place_prefix(path, f'{place}.{key}')}a name is not swept; write one entry for each")
    if prod(len(values) for values in swept.values()) > MAX_CELLS:
        raise BadInput(f"{place_prefix(path, place)}its sweeps stand for more than {MAX_CELLS:,} entries")
    return swept


def find_sweeps(table: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """The swept settings of a table and of the tables in it: (key, values).

    A setting of a table within the table is named by both keys: `policy.iterations`.
    """
    if isinstance(table, dict) and set(table) == {SWEEP} and key:
        yield key, table[SWEEP]
    elif isinstance(table, dict | list):
        for name, value in table.items() if isinstance(table, dict) else enumerate(table):
            yield from find_sweeps(value, f"{key}.{name}" if key else str(name))


def expand_sweeps(table: dict[str, Any], sweeps: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The tables that a table with sweeps stands for, each with its value for every swept key."""
    for chosen in product(*sweeps.values()):
        values = dict(zip(sweeps, chosen, strict=True))
        yield _replace_sweeps(table, values), values


def _replace_sweeps(table: Any, values: Mapping[str, Any], key: str = "") -> Any:
    """The table with a value in place of each sweep."""
    if key in values:
        return values[key]
    if isinstance(table, dict):
        return {name: _replace_sweeps(one, values, f"{key}.{name}" if key else name) for name, one in table.items()}
    if isinstance(table, list):
        return [_replace_sweeps(one, values, f"{key}.{place}") for place, one in enumerate(table)]
    return table


def _validate(kind: type[Keys], data: Any, path: Path | None, place: str) -> Any:
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(error_message(kind, first, path, place, list(LISTS))) from error


def place_prefix(path: Path | None, place: str) -> str:
    """The place of an error, as the start of a message; empty for a study that is no file."""
    return "" if path is None else f"{path}: {place}: "


def format_value(value: Any) -> str:
    """A refused value, shortened if it is long."""
    return f"{value!r:.80}"


def error_message(
    kind: type[Keys], error: Mapping[str, Any], path: Path | None, place: str, lists: Sequence[str]
) -> str:
    """The message for one error of pydantic; `lists` are the keys of a study that are lists of tables."""
    keys = [str(key) for key in error["loc"]]
    table = with_article(kind.registry.kind) if issubclass(kind, PartKeys) else "a criterion" if place else "the study"
    file = "" if path is None else f"{path}: "
    at = file + (f"{place}: " if path is not None and place else "")
    if error["type"] == "extra_forbidden":
        known = [*kind.model_fields, *(lists if kind is StudyKeys else ())]
        return f"{at}{table} has no key '{keys[-1]}';{suggest_name(keys[-1], known)}"
    if error["type"] == "missing":
        names = (
            f";{suggest_name('', kind.registry.parts)}" if issubclass(kind, PartKeys) and kind is not ModelKeys else ""
        )
        return f"{at}{table} needs a {keys[-1]}{names}"
    if error["type"] == "value_error":
        place = ".".join([*([place] if path is not None and place else []), *keys])
        return f"{file}{place}{': ' if place else ''}{error['msg'].removeprefix('Value error, ')}"
    if keys[-1] == NAME_OR_TABLE:
        keys, requirement = keys[:-1], "a name or a table with a name"
    else:
        requirement = REQUIREMENTS.get(error["type"], "").format(**error.get("ctx", {}))
    place = ".".join([*([place] if path is not None and place else []), *keys])
    problem = f"must be {requirement}" if requirement else error["msg"][0].lower() + error["msg"][1:]
    return f"{file}{place}: {problem}, got {format_value(error['input'])}{suggest_sweep(error['input'])}"
