"""Sweeps: an entry of a study with several values for a setting stands for one entry for each of them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from wmel.contract.cell import label_name, label_value

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
SAME_SETTING = {("criterion", "success"): "criterion"}  # aliases


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


def find_sweeps(table: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """The swept settings of a table and of the tables in it: (key, values).

    A setting of a table within the table is named by both keys: `policy.iterations`.
    """
    if isinstance(table, dict) and set(table) == {"sweep"} and key:
        yield key, table["sweep"]
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


def add_labels(lists: Mapping[str, list[StudyEntry]]) -> dict[str, list[StudyEntry]]:
    """The entries with the labels of what they sweep; a name that two kinds sweep is qualified by the kind."""
    listed = [(ENTRY_KINDS[name], entry) for name, entries in lists.items() for entry in entries]
    keys = {_setting_of(kind, key) for kind, entry in listed for key in entry.swept}
    uses = Counter(label_name(*key) for key in keys)

    def label(entry: StudyEntry, kind: str) -> StudyEntry:
        settings = {key: _setting_of(kind, key) for key in entry.swept}
        names = {key: label_name(*one, is_ambiguous=uses[label_name(*one)] > 1) for key, one in settings.items()}
        labels = {names[key]: label_value(value) for key, value in entry.swept.items()}
        sweeps = {names[key]: f"{of[0]}.{SAME_SETTING.get(of, of[1])}" for key, of in settings.items()}
        return replace(entry, labels=labels, sweeps=sweeps)

    return {name: [label(entry, ENTRY_KINDS[name]) for entry in entries] for name, entries in lists.items()}


def _setting_of(kind: str, key: str) -> tuple[str, str]:
    """The kind and the setting that a swept key names: `policy.iterations` of a model is a setting of its policy."""
    first, dot, rest = key.partition(".")
    return (first, rest) if dot and first in ENTRY_KINDS.values() else (kind, key)
