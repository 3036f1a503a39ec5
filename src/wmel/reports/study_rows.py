"""The summary of a study as rows of one table: its gaps, the arms of settings without one, and its readings."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from wmel.contract.cell import part_label
from wmel.contract.labels import label_columns, label_text
from wmel.reports.json_envelope import EstimateEntry
from wmel.reports.study_envelope import ComparisonEntry, ReadingEntry, StudyRecord
from wmel.reports.study_gaps import StudyGap, places_without_gaps, study_gaps

MEASURED = {"steps": "average_steps_to_success", "return": "average_return"}


class _Row(NamedTuple):
    names: Mapping[str, Any]
    labels: Mapping[str, Any]
    sweeps: Mapping[str, str]
    numbers: Mapping[str, Any]


def study_rows(record: StudyRecord) -> list[dict[str, Any]]:
    """Every row has every column, what is swept among them; a cell that a row has no number for is None."""
    rows = _all_rows(record)
    names, numbers = _columns(rows)
    return [
        {
            **{name: row.names.get(name) for name in names},
            **labels,
            **{name: row.numbers.get(name) for name in numbers},
        }
        for row, labels in zip(rows, _swept(rows, [row.labels for row in rows]), strict=True)
    ]


def label_texts(record: Any) -> list[dict[str, str]]:
    """What is swept, as people write it, for every row of a sweep or a study; empty where a row has no such setting."""
    if record.kind == "sweep":
        return [{name: label_text(value) for name, value in point.swept.items()} for point in record.points]
    rows = _all_rows(record) if record.kind == "study" else []
    labels = list(dict.fromkeys(label for row in rows for label in row.labels))
    texts = [{one: label_text(row.labels[one]) if one in row.labels else "" for one in labels} for row in rows]
    return _swept(rows, texts)


def _all_rows(record: StudyRecord) -> list[_Row]:
    arms = [
        *map(_gap_row, study_gaps(record)),
        *(row for place, one in places_without_gaps(record) for row in _arm_rows(place, one)),
    ]
    taken = {name for row in arms for name in row.numbers}
    return [*arms, *(_reading_row(one, taken) for one in record.readings)]


def _columns(rows: Sequence[_Row]) -> tuple[list[str], list[str]]:
    """The names and the numbers that some row has."""
    names = list(dict.fromkeys(name for row in rows for name in row.names))
    return names, list(dict.fromkeys(name for row in rows for name in row.numbers))


def _swept(rows: Sequence[_Row], labels: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    names, numbers = _columns(rows)
    sweeps = {label: setting for row in rows for label, setting in row.sweeps.items()}
    return label_columns(labels, sweeps, [*names, *numbers])


def _gap_row(gap: StudyGap) -> _Row:
    one, entry = gap.comparison, gap.entry
    numbers = {
        "oracle_success": entry.oracle_success_rate,
        "model_success": entry.learned_success_rate,
        "gap": entry.gap,
        "low": entry.gap_ci_low,
        "high": entry.gap_ci_high,
        "verdict": entry.verdict,
    }
    labels = {**one.labels, **one.arm_labels.get(gap.model, {})}
    return _Row({"setting": gap.place, "model": gap.model}, labels, one.sweeps, numbers)


def _arm_rows(place: str, one: ComparisonEntry) -> Iterator[_Row]:
    for arm, card in one.scorecards.items():
        measured = {name: card.estimates[metric].value for name, metric in MEASURED.items() if metric in card.estimates}
        labels = {**one.labels, **one.arm_labels.get(arm, {})}
        numbers = {**_interval("success", card.estimates["success_rate"]), **measured, "episodes": card.episodes}
        yield _Row({"setting": place, "model": arm}, labels, one.sweeps, numbers)


def _reading_row(one: ReadingEntry, taken: Collection[str]) -> _Row:
    """A number whose name is taken is qualified by its diagnostic."""
    diagnostic = one.diagnostic["name"]
    named = {"setting": part_label(one.environment), "model": one.arm, "diagnostic": diagnostic}
    names = {**named, **{word: text for word, text in one.words.items() if word not in named}, "seed": one.seed}
    numbers = {}
    for name, entry in one.values.items():
        numbers |= _interval(f"{diagnostic}.{name}" if name in (*taken, *names) else name, entry)
    return _Row(names, one.labels, one.sweeps, numbers)


def _interval(name: str, entry: EstimateEntry) -> dict[str, Any]:
    """A number, and the ends of its interval where it has one."""
    ends = {} if entry.low is None else {f"{name}_low": entry.low, f"{name}_high": entry.high}
    return {name: entry.value, **ends}
