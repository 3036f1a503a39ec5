"""What the diagnostics of a study found: entries of its record, tables and curves of them."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wmel.contract.cell import ORACLE, Diagnostic, label_text, part_label, swept_setting
from wmel.errors import is_number
from wmel.reports.analysis_record_types import EsnrRecord, ReadingEntry, StudyRecord
from wmel.reports.cells import short, undefined, with_interval
from wmel.reports.document import Table, TableCell, TableColumn
from wmel.reports.esnr_report import difference_table
from wmel.reports.record_entries import estimate_entry
from wmel.reports.record_types import EstimateEntry
from wmel.reports.study_curves import Point, axis_places, axis_values
from wmel.stats.estimate import Estimate

ESNR = "esnr"
SHOWN = ("esnr", "esnr_per_rollout", "pooled", "median")  # of many numbers, those that are shown
LONGEST = 60  # characters of a word beside the numbers
Stored = tuple[Diagnostic, Mapping[str, Any] | None]


@dataclass(frozen=True)
class ReadingCurve:
    """One number of a diagnostic against one label: points by model."""

    label: str
    where: str  # what does not move
    measure: str
    lines: Mapping[str, Sequence[Point]]

    @property
    def values(self) -> list[Any]:
        """Where the label stands."""
        return axis_values(point.at for points in self.lines.values() for point in points)


def side_by_side(stored: Sequence[Stored]) -> list[list[tuple[Diagnostic, Mapping[str, Any]]]]:
    """Readings that share everything but their model."""
    groups: dict[str, list[tuple[Diagnostic, Mapping[str, Any]]]] = {}
    for cell, found in stored:
        if found is not None:
            groups.setdefault(cell.comparison_key, []).append((cell, found))
    return list(groups.values())


def reading_entries(stored: Sequence[Stored]) -> list[ReadingEntry]:
    """One for each model and method; the oracle, which is read beside every model, once."""
    return [entry for group in side_by_side(stored) for entry in _entries(group)]


def readings_tables(readings: Sequence[ReadingEntry]) -> list[Table]:
    """One for each diagnostic: what was swept, the model, then the numbers; a terminal shows one interval per row."""
    return [_table(name, entries) for name, entries in _by_diagnostic(readings).items()]


def differences_tables(readings: Sequence[EsnrRecord]) -> list[Table]:
    """The differences of every group of models that were read side by side."""
    tables = [(one, difference_table(one)) for one in readings if one.differences]
    return [replace(table, caption=f"{table.caption} in {one.environment}") for one, table in tables]


def reading_curves(record: StudyRecord) -> list[ReadingCurve]:
    """The first number of each diagnostic against every label that moves."""
    curves = [curve for name, entries in _by_diagnostic(record.readings).items() for curve in _curves(name, entries)]
    return [curve for curve in curves if len(curve.values) > 1]


def _by_diagnostic(readings: Sequence[ReadingEntry]) -> dict[str, list[ReadingEntry]]:
    found: dict[str, list[ReadingEntry]] = {}
    for one in readings:
        found.setdefault(scale_name(one), []).append(one)
    return found


def scale_name(one: ReadingEntry) -> str:
    """What has one scale: a diagnostic; ESNR of different estimators are different quantities."""
    name, method = one.diagnostic["name"], one.words.get("method", "").partition("(")[0]
    return f"{name} by {method}" if name == ESNR and method else name


def _entries(group: Sequence[tuple[Diagnostic, Mapping[str, Any]]]) -> Iterator[ReadingEntry]:
    first = group[0][0].labels
    common = {k: v for k, v in first.items() if all(cell.labels.get(k, cell) == v for cell, _ in group)}
    beside: dict[str, ReadingEntry] = {}
    for cell, found in group:
        for arm, words, values in _rows(cell, found["data"]):
            is_beside = arm == ORACLE and cell.arm != ORACLE
            entry = ReadingEntry(
                diagnostic=dict(cell.diagnostic),
                environment=dict(cell.environment),
                objective=None if cell.objective is None else dict(cell.objective),
                arm=arm,
                base=ORACLE if is_beside else cell.base or cell.arm,
                seed=cell.seed,
                labels=dict(common if is_beside else cell.labels),
                sweeps=dict(cell.sweeps),
                words=words,
                values=values,
            )
            if is_beside:
                beside.setdefault(json.dumps(words), entry)
            else:
                yield entry
    yield from beside.values()


def _rows(cell: Diagnostic, data: Any) -> Iterator[tuple[str, dict[str, str], dict[str, EstimateEntry]]]:
    """The model, words and numbers of a reading: of each method of ESNR, or whatever a diagnostic returned."""
    if cell.diagnostic["name"] == ESNR:
        for one in data["readings"]:
            aligned = {"alignment": (one.get("alignment") or {}).get("cosine")}
            numbers = _numbers({**{name: one.get(name) for name in SHOWN}, **aligned})
            yield one["model"], {"method": one["method"]}, numbers
        return
    if isinstance(data, Mapping) and isinstance(data.get("rows"), list):
        for row in data["rows"]:
            words = {name: str(one) for name, one in row.items() if isinstance(one, str | int) and name != "model"}
            yield str(row.get("model", cell.arm)), words, _numbers(_with_interval(row, words))
        return
    entries = data if isinstance(data, Mapping) else {"value": data}
    words = {name: one for name, one in entries.items() if isinstance(one, str) and len(one) <= LONGEST}
    yield cell.arm, words, _numbers(entries)


def _with_interval(row: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """The numbers of a row of a diagnostic; `low` and `high` are the interval of the number before them."""
    numbers = {name: one for name, one in row.items() if name not in words}
    if not {"low", "high"} <= numbers.keys():
        return numbers
    names = list(numbers)
    measured, low, high = names[names.index("low") - 1], numbers.pop("low"), numbers.pop("high")
    value = numbers[measured]
    known = Estimate.undefined("it is not defined") if value is None else Estimate(value, low, high)
    return {**numbers, measured: vars(known)}


def _numbers(data: Mapping[str, Any]) -> dict[str, EstimateEntry]:
    """The numbers and estimates among some values."""
    found = {}
    for name, one in data.items():
        if is_number(one):
            known = Estimate(float(one)) if math.isfinite(one) else Estimate.undefined(f"it is {one}")
            found[name] = estimate_entry(known)
        elif isinstance(one, Mapping) and set(EstimateEntry.model_fields) <= set(one):
            found[name] = EstimateEntry(**{field: one[field] for field in EstimateEntry.model_fields})
    return found


def _table(name: str, entries: Sequence[ReadingEntry]) -> Table:
    labels, words, values = (
        list(dict.fromkeys(key for one in entries for key in getattr(one, field)))
        for field in ("labels", "words", "values")
    )
    worlds = [part_label(one.environment) for one in entries]
    places = ["environment"] if len(set(worlds)) > 1 else []
    seeds = ["seed"] if len({one.seed for one in entries}) > 1 else []
    rows = tuple(
        (
            *(TableCell(world) for _ in places),
            *(TableCell(label_text(one.labels.get(label, ""))) for label in labels),
            TableCell(one.arm),
            *(TableCell(one.words.get(word, "")) for word in words),
            *(TableCell(str(one.seed)) for _ in seeds),
            *(_number(one.values.get(value), is_first=value == values[0]) for value in values),
        )
        for world, one in zip(worlds, entries, strict=True)
    )
    named = [*places, *labels, "model", *words, *seeds]
    where = "" if places else f" in {worlds[0]}"
    columns = (*(TableColumn(title, False) for title in named), *map(TableColumn, values))
    return Table(f"{name}{where}", columns, rows, names=len(named))


def _number(entry: EstimateEntry | None, *, is_first: bool) -> TableCell:
    if entry is None:
        return undefined("it was not returned")
    cell = with_interval(entry)
    return cell if is_first or entry.value is None else cell._replace(short=short(entry.value))


def _curves(name: str, entries: Sequence[ReadingEntry]) -> Iterator[ReadingCurve]:
    measure = next((value for one in entries for value in one.values), None)
    for label in dict.fromkeys(label for one in entries for label in one.labels):
        groups: dict[str, list[ReadingEntry]] = {}
        for one in entries:
            if label in one.labels and measure in one.values and one.values[measure].value is not None:
                groups.setdefault(_constant_part(one, label), []).append(one)
        for group in groups.values():
            yield ReadingCurve(label, _where(name, group[0], label), str(measure), _lines(group, label, str(measure)))


def _constant_part(one: ReadingEntry, label: str) -> str:
    """All that does not move with a label, but for the model."""
    kind, key = swept_setting(label, _parts(one), one.sweeps)
    parts = {
        name: {k: v for k, v in part.items() if k != key} if name == kind and part else part
        for name, part in _parts(one).items()
    }
    return json.dumps([parts, one.seed], sort_keys=True, default=str)


def _parts(one: ReadingEntry) -> dict[str, Any]:
    return {"environment": one.environment, "objective": one.objective, "diagnostic": one.diagnostic}


def _where(name: str, one: ReadingEntry, label: str) -> str:
    others = [f"{other} = {label_text(one.labels[other])}" for other in _of_setting(one) if other != label]
    return ", ".join([name, one.environment["name"], *others, f"seed {one.seed}"])


def _lines(group: Sequence[ReadingEntry], label: str, measure: str) -> dict[str, list[Point]]:
    """A line for each model and method."""
    found: dict[str, list[Point]] = {}
    places = axis_places([one.labels[label] for one in group])
    pairs = list(zip(places, group, strict=True))
    for at in axis_values(places):
        for one in (one for place, one in pairs if place == at):
            own = [other for other in one.labels if other != label and other not in _of_setting(one)]
            named = [one.base, *one.words.values(), *(f"{other}={label_text(one.labels[other])}" for other in own)]
            entry = one.values[measure]
            value = 0.0 if entry.value is None else entry.value
            low, high = (value if end is None else end for end in (entry.low, entry.high))
            found.setdefault(", ".join(named), []).append(Point(at, value, low, high))
    return found


def _of_setting(one: ReadingEntry) -> list[str]:
    """The labels that are not of the model."""
    return [label for label in one.labels if swept_setting(label, _parts(one), one.sweeps)[0] in _parts(one)]
