"""The keys of sweeps and settings, such as planner.elites, and how their values enter the entries of a study."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wmel.analysis.scorecard import metric_data
from wmel.api.live_parts import model_settings, parse_model_setting
from wmel.api.study_entries import KINDS, EntryBuilder, has_its_settings
from wmel.api.verbs import setting_pairs
from wmel.errors import BadInput, suggest_name
from wmel.experiments.keys import ENTRY_SETTINGS, check_entry_settings
from wmel.experiments.spec import find_sweeps, format_value
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


def put_sweeps(data: dict[str, Any], sweeps: Sequence[Swept], builder: EntryBuilder) -> None:
    """Put the values into the entries of a study; metrics are added to the settings that were given."""
    for one in sweeps:
        if one.kind == METRIC:
            builder.settings[METRIC][one.name] = {"sweep": [_guess(value) for value in one.values]}
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
        if one.name in entry and one.name not in builder.by_preset.get(one.kind, ()):
            raise BadInput(f"{one.kind}.{one.name} is given and swept: leave out {entry[one.name]!r}, or the sweep")
        parsed = [_value(one.kind, entry, one.name, value) for value in one.values]
        if any(value in parsed[:number] for number, value in enumerate(parsed)):
            raise BadInput(f"the values of {one.kind}.{one.name} must differ, got {', '.join(map(str, one.values))}")
        entry[one.name] = {"sweep": parsed}


def with_settings(data: Mapping[str, Any], builder: EntryBuilder) -> dict[str, Any]:
    """A study with the settings given beside it, in every entry whose part has them; they replace those it states."""
    changed = {**data}
    for kind, settings in builder.settings.items():
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
            builder.used.add(kind)
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
