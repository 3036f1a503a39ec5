"""A study as data: TOML or a dict read, swept settings spread out, every key checked and named where it is wrong."""

import json
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from wmel import catalog
from wmel.analysis.scorecard import metric, metric_texts
from wmel.contract.labels import label_name, label_value
from wmel.errors import BadInput, WmelError
from wmel.experiments.keys import (
    CriterionKeys,
    DiagnosticKeys,
    EnvironmentKeys,
    Keys,
    ObjectiveKeys,
    PartKeys,
    PerturbationKeys,
    PlannerKeys,
    PolicyKeys,
    StudyKeys,
)
from wmel.experiments.model_keys import SEED, ModelKeys
from wmel.experiments.refusals import place_words, refusal, shown
from wmel.files import read_toml

__all__ = ["MOST", "SEED", "StudyEntry", "StudySpec", "arm_name", "parse_study", "read_study"]

GIVEN = "given"  # marks a live part, which its name stands for
MOST = 100_000  # cells a study may spread out to


@dataclass(frozen=True, eq=False)
class StudyEntry:
    """One entry of a list after its sweeps were spread out: its keys, and where the swept ones stand."""

    keys: Any
    place: str
    swept: Mapping[str, Any] = field(default_factory=dict)  # key -> value
    labels: Mapping[str, Any] = field(default_factory=dict)  # the same by the names that the study gives them
    sweeps: Mapping[str, str] = field(default_factory=dict)  # label -> the setting it is of: `planner.elites`


@dataclass(frozen=True, eq=False)
class StudySpec:
    """A study file, checked."""

    study: StudyKeys
    environments: list[StudyEntry]
    models: list[StudyEntry]
    planners: list[StudyEntry]
    policies: list[StudyEntry]
    objectives: list[StudyEntry]
    perturbations: list[StudyEntry]
    criteria: list[StudyEntry]
    diagnostics: list[StudyEntry]
    path: Path  # which paths in it are relative to
    text: str

    @property
    def folder(self) -> Path:
        return self.path.parent


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
PRESET_LISTS = {"environments": catalog.ENVIRONMENTS, "planners": catalog.PLANNERS}
LABELLED_AS = {  # the kind whose settings a list sweeps
    **{name: name.removesuffix("s") for name in LISTS},
    "policies": "policy",
    "criteria": "criterion",
}
SAME_SETTING = {("criterion", "success"): "criterion"}  # aliases


def read_study(path: Path) -> StudySpec:
    """The study of a file; whatever is wrong is named with its place."""
    data, text = read_toml(path)
    return parse_study(data, text, path)


def parse_study(
    data: Mapping[str, Any], text: str = "", path: Path | None = None, objects: Container[str] = ()
) -> StudySpec:
    """The study of a dict; `path` is what messages name and what its paths are relative to.

    `objects` are the names of live parts: only those may be marked as `given`.
    """
    where = path
    if not isinstance(data, Mapping):
        raise BadInput(f"a study is a TOML file or a dict, got {shown(data)}")
    top = {key: value for key, value in data.items() if key not in LISTS}
    study = _checked(StudyKeys, top, where, "")
    if study.executor is not None:
        executor = catalog.name_and_settings(study.executor, "executor")
        _tried(where, "executor", lambda: catalog.EXECUTORS.spec(*executor))
    preset = _tried(where, "preset", lambda: catalog.preset_settings(study.preset))
    lists = {
        name: _entries(_with_preset(data.get(name, DEFAULT_ENTRIES.get(name)), name, preset), name, where, objects)
        for name in LISTS
    }
    if preset and not preset.get("verdict") and not _fits_preset(data, preset):
        raise BadInput(f"{place_words(where, 'preset')}{catalog.preset_without_effect(preset)}")
    if not (lists["planners"] or lists["policies"] or lists["diagnostics"] or _act_by_themselves(lists["models"])):
        raise BadInput(f"{place_words(where, 'planners')}at least one is needed")
    for entry in lists["models"]:
        seeds = entry.keys.seeds
        if seeds is not None and len(seeds) not in (1, len(study.seeds)):
            place = place_words(where, f"models '{entry.keys.name}': seeds")
            raise BadInput(
                f"{place}{len(seeds)} seeds to train with for {len(study.seeds)} "
                "seeds of episodes: give one, or one for each"
            )
    names = [arm_name(entry) for entry in lists["models"]]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"{place_words(where, 'models')}two are called '{name}'")
    for named in _tried(where, "metrics", lambda: metric_texts(study.metrics)):
        _tried(where, "metrics", lambda named=named: metric(named))
    for name, entries in lists.items():
        for entry in entries:
            if isinstance(entry.keys, PartKeys):
                _tried(where, entry.place, entry.keys.refuse_taken_names)
            _tried(where, entry.place, lambda entry=entry: entry.keys.checked)
        if name != "models":  # those have names of their own
            _refuse_equal(entries, where)
    return StudySpec(study, path=where or Path("study"), text=text, **_labelled(lists))


def arm_name(entry: StudyEntry) -> str:
    """A model's name, with where its swept keys stand."""
    swept = ",".join(f"{key}={label_value(value)}" for key, value in entry.swept.items())
    return f"{entry.keys.name}[{swept}]" if swept else entry.keys.name


def _labelled(lists: Mapping[str, list[StudyEntry]]) -> dict[str, list[StudyEntry]]:
    """The entries with the labels of what they sweep; one name swept by two kinds is qualified by the kind."""
    kinds = {name: LABELLED_AS[name] for name in lists}
    listed = [(kinds[name], entry) for name, entries in lists.items() for entry in entries]
    keys = {_setting_of(kind, key) for kind, entry in listed for key in entry.swept}
    uses = Counter(label_name(*key) for key in keys)

    def labelled(entry: StudyEntry, kind: str) -> StudyEntry:
        settings = {key: _setting_of(kind, key) for key in entry.swept}
        names = {key: label_name(*one, is_ambiguous=uses[label_name(*one)] > 1) for key, one in settings.items()}
        labels = {names[key]: label_value(value) for key, value in entry.swept.items()}
        sweeps = {names[key]: f"{of[0]}.{SAME_SETTING.get(of, of[1])}" for key, of in settings.items()}
        return replace(entry, labels=labels, sweeps=sweeps)

    return {name: [labelled(entry, kinds[name]) for entry in entries] for name, entries in lists.items()}


def _setting_of(kind: str, key: str) -> tuple[str, str]:
    """The kind and the setting a swept key is of: `policy.iterations` of a model is a setting of its policy."""
    first, dot, rest = key.partition(".")
    return (first, rest) if dot and first in LABELLED_AS.values() else (kind, key)


def _refuse_equal(entries: list[StudyEntry], where: Path | None) -> None:
    """Refuse two entries of a list that stand for the same."""
    found: dict[str, StudyEntry] = {}
    for entry in entries:
        other = found.setdefault(json.dumps(entry.keys.same_as, sort_keys=True, default=repr), entry)
        if other is not entry:
            at = ", ".join(f"{key} = {value!r}" for key, value in entry.swept.items())
            same = f"the same as {other.place}" if entry.place != other.place else f"{at} is swept twice"
            raise BadInput(f"{place_words(where, entry.place)}{same}: leave one out")


def _act_by_themselves(models: list[StudyEntry]) -> bool:
    return bool(models) and all(entry.keys.policy is not None for entry in models)


def _tried(path: Path | None, place: str, work: Callable[[], Any]) -> Any:
    try:
        return work()
    except WmelError as error:
        raise type(error)(f"{place_words(path, place)}{error}") from error


def _fits_preset(data: Mapping[str, Any], preset: Mapping[str, Any]) -> bool:
    """Whether a preset has settings of some environment or planner of a study."""
    return any(
        catalog.settings_by_preset(preset, registry, one if isinstance(one, str) else one["name"])
        for name, registry in PRESET_LISTS.items()
        for one in data.get(name, ())
    )


def _with_preset(given: Any, name: str, preset: Mapping[str, Any]) -> Any:
    """Environments and planners with what a preset says of them, where their own tables do not."""
    if not preset or name not in PRESET_LISTS or not isinstance(given, list):
        return given
    tables = [{"name": one} if isinstance(one, str) else one for one in given]
    return [
        {**catalog.settings_by_preset(preset, PRESET_LISTS[name], one["name"]), **one}
        if isinstance(one, dict) and isinstance(one.get("name"), str) and not one.get(GIVEN)
        else one
        for one in tables
    ]


def _entries(given: Any, name: str, path: Path | None, objects: Container[str]) -> list[StudyEntry]:
    if given is None:
        raise BadInput(f"{place_words(path, name)}at least one is needed")
    if name != "models" and isinstance(given, list):
        key = "criterion" if name == "criteria" else "name"
        given = [{key: one} if isinstance(one, str) else one for one in given]
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise BadInput(f"{place_words(path, name)}write each as a [[{name}]] table, got {shown(given)}")
    for place, one in enumerate(given):
        if GIVEN in one and one.get("name") not in objects:
            raise BadInput(f"{place_words(path, f'{name}[{place}]')}'{one.get('name')}' has no setting '{GIVEN}'")
    if not given and DEFAULT_ENTRIES.get(name) != []:
        raise BadInput(f"{place_words(path, name)}at least one is needed")
    return [
        StudyEntry(_checked(LISTS[name], keys, path, f"{name}[{place}]"), f"{name}[{place}]", labels)
        for place, one in enumerate(given)
        for keys, labels in _spread(one, path, f"{name}[{place}]")
    ]


def _spread(entry: dict[str, Any], path: Path | None, place: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The entries a sweep stands for: `plan_horizon = {sweep = [1, 5, 10]}` is three of them.

    A sweep within a table of the entry is called by both keys: `policy.iterations`.
    """
    swept = dict(_sweeps_in(entry))
    for key, values in swept.items():
        if not isinstance(values, list) or not values:
            raise BadInput(
                f"{place_words(path, f'{place}.{key}.sweep')}a list of at least one value, got {shown(values)}"
            )
        if key.rpartition(".")[2] == "name":
            raise BadInput(f"{place_words(path, f'{place}.{key}')}a name is not swept; write one entry for each")
    if prod(len(values) for values in swept.values()) > MOST:
        raise BadInput(f"{place_words(path, place)}its sweeps stand for more than {MOST:,} entries")
    for chosen in product(*swept.values()):
        labels = dict(zip(swept, chosen, strict=True))
        yield _with_values(entry, labels), labels


def _sweeps_in(table: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """The swept settings of a table and of tables within it, by their keys."""
    if isinstance(table, dict) and set(table) == {"sweep"} and key:
        yield key, table["sweep"]
    elif isinstance(table, dict | list):
        for name, value in table.items() if isinstance(table, dict) else enumerate(table):
            yield from _sweeps_in(value, f"{key}.{name}" if key else str(name))


def _with_values(table: Any, values: Mapping[str, Any], key: str = "") -> Any:
    """The table with a value in place of each sweep."""
    if key in values:
        return values[key]
    if isinstance(table, dict):
        return {name: _with_values(one, values, f"{key}.{name}" if key else name) for name, one in table.items()}
    if isinstance(table, list):
        return [_with_values(one, values, f"{key}.{place}") for place, one in enumerate(table)]
    return table


def _checked(kind: type[Keys], data: Any, path: Path | None, place: str) -> Any:
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(refusal(kind, first, path, place, list(LISTS))) from error
