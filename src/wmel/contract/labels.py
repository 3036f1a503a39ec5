"""Labels: what a study sweeps by the names it gives them, and where a cell, a row or a point stands."""

from collections.abc import Mapping, Sequence
from typing import Any

PREFIXED = ("perturbation", "criterion", "diagnostic")  # kinds whose labels always name them
BARE = ("environment", "planner", "objective")  # kinds of a setting whose labels do not


def label_name(kind: str, key: str, *, is_ambiguous: bool = False) -> str:
    """What a swept setting is called: by its kind too where another kind sweeps one of the same name."""
    if kind == key:
        return key
    if is_ambiguous:
        return f"{kind}.{key}"
    return f"{kind}_{key}" if kind in PREFIXED else key


def label_value(value: Any) -> Any:
    """Where a label stands, as one word or number: a list is `4-8`, a table `native-candidates=16`."""
    if isinstance(value, Mapping):
        name = [str(value["name"])] if "name" in value else []
        return "-".join([*name, *(f"{key}={label_value(one)}" for key, one in value.items() if key != "name")])
    return "-".join(str(label_value(one)) for one in value) if isinstance(value, list | tuple) else value


def label_values(labels: Mapping[str, Any]) -> dict[str, Any]:
    """Labels as words and numbers."""
    return {name: label_value(value) for name, value in labels.items()}


def swept_setting(label: str, parts: Mapping[str, Any], sweeps: Mapping[str, str]) -> tuple[str, str]:
    """The kind and the key that a label is of; where a store of an earlier version does not say, by its name."""
    if label in sweeps:
        kind, _, key = sweeps[label].partition(".")
        return kind, key
    kind, _, key = label.partition("_")
    if kind in PREFIXED:
        return kind, "criterion" if (kind, key) == ("criterion", "success") else key
    return next((kind for kind in BARE if label in (parts.get(kind) or {})), "planner"), label


def label_words(value: Any) -> str:
    """Where a label stands, as people write it."""
    return "none" if value is None else str(label_value(value))


def label_columns(rows: Sequence[Mapping[str, Any]], sweeps: Mapping[str, str], taken: Sequence[str]) -> list[dict]:
    """Labels as columns of a table: the same in every row, each of one type, none with a name that is taken."""
    names = list(dict.fromkeys(label for row in rows for label in row))
    columns = {label: sweeps.get(label, f"swept.{label}") if label in taken else label for label in names}
    given = {label: {type(row[label]) for row in rows if row.get(label) is not None} for label in names}
    is_text = {label: len(given[label] - {int, float}) > 0 and len(given[label]) > 1 for label in names}

    def shown(label: str, value: Any) -> Any:
        return label_words(value) if is_text[label] and value is not None else label_value(value)

    return [{columns[label]: shown(label, row.get(label)) for label in names} for row in rows]
