"""Labels: the swept settings of a study by name, and the values of a cell, row or point."""

from collections.abc import Mapping, Sequence
from typing import Any

PREFIXED = ("perturbation", "criterion", "diagnostic")  # kinds that are part of the label
BARE = ("environment", "planner", "objective")  # kinds that are not


def label_name(kind: str, key: str, *, is_ambiguous: bool = False) -> str:
    """The label of a swept setting. It includes the kind if another kind sweeps a setting of the same name."""
    if kind == key:
        return key
    if is_ambiguous:
        return f"{kind}.{key}"
    return f"{kind}_{key}" if kind in PREFIXED else key


def label_value(value: Any) -> Any:
    """The value of a label as text or a number: a list is `4-8`, a table `native-candidates=16`."""
    if isinstance(value, Mapping):
        name = [str(value["name"])] if "name" in value else []
        return "-".join([*name, *(f"{key}={label_value(one)}" for key, one in value.items() if key != "name")])
    return "-".join(str(label_value(one)) for one in value) if isinstance(value, list | tuple) else value


def label_values(labels: Mapping[str, Any]) -> dict[str, Any]:
    """The values of labels as texts and numbers."""
    return {name: label_value(value) for name, value in labels.items()}


def swept_setting(label: str, parts: Mapping[str, Any], sweeps: Mapping[str, str]) -> tuple[str, str]:
    """The kind and the key of a label. In stores of earlier versions, they are derived from the label's name."""
    if label in sweeps:
        kind, _, key = sweeps[label].partition(".")
        return kind, key
    kind, _, key = label.partition("_")
    if kind in PREFIXED:
        return kind, "criterion" if (kind, key) == ("criterion", "success") else key
    return next((kind for kind in BARE if label in (parts.get(kind) or {})), "planner"), label


def label_text(value: Any) -> str:
    """The value of a label as text, for tables and names."""
    return "none" if value is None else str(label_value(value))


def label_columns(rows: Sequence[Mapping[str, Any]], sweeps: Mapping[str, str], taken: Sequence[str]) -> list[dict]:
    """Labels as columns of a table. Every row has all of them, a column has one type, and no name is in `taken`."""
    labels = list(dict.fromkeys(label for row in rows for label in row))
    columns = {label: sweeps.get(label, f"swept.{label}") if label in taken else label for label in labels}
    types = {label: {type(row[label]) for row in rows if row.get(label) is not None} for label in labels}
    is_text = {label: len(types[label] - {int, float}) > 0 and len(types[label]) > 1 for label in labels}

    def convert(label: str, value: Any) -> Any:
        return label_text(value) if is_text[label] and value is not None else label_value(value)

    return [{columns[label]: convert(label, row.get(label)) for label in labels} for row in rows]
