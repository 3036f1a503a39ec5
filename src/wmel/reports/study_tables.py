"""The tables of gaps: one row per gap, how each verdict was reached, further numbers, and missing cells."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from wmel.analysis.verdict import format_interval
from wmel.contract.cell import FLOOR, label_columns, label_text, part_label
from wmel.reports.analysis_record_types import ComparisonEntry, ReadingEntry, StudyRecord
from wmel.reports.answers import PAPER
from wmel.reports.cells import estimate_cell, metric_cell, p_value_cell, undefined
from wmel.reports.document import Table, TableCell, TableColumn
from wmel.reports.record_entries import estimate_from
from wmel.reports.record_types import CPGEntry, EstimateEntry
from wmel.reports.study_gaps import StudyGap, places_without_gaps, study_gaps
from wmel.reports.study_record import EARLY
from wmel.stats.estimate import Estimate


def gaps_table(record: StudyRecord) -> Table:
    """One row per gap."""
    gaps = study_gaps(record)
    numbers = ("gap", "95% interval", "oracle", "success", "random", "Holm p", "n")
    paper = [TableColumn("verdict (CPG paper)", False)] if record.paper_first else []
    columns = (*_name_columns(gaps), TableColumn("verdict", False), *map(TableColumn, numbers), *paper)
    rows = tuple(
        (
            *_name_cells(gap, gaps),
            TableCell(gap.entry.verdict),
            TableCell(f"{gap.entry.gap:+.3f}", value=gap.entry.gap),
            TableCell(format_interval(_interval(gap)), value=(gap.entry.gap_ci_low, gap.entry.gap_ci_high)),
            TableCell(f"{gap.entry.oracle_success_rate:.3f}", value=gap.entry.oracle_success_rate),
            TableCell(f"{gap.entry.learned_success_rate:.3f}", value=gap.entry.learned_success_rate),
            _floor(gap),
            p_value_cell(gap.adjusted, (gap.entry.p_value or gap.entry.mid_p).reason or "it was not adjusted"),
            _episodes(gap),
            *([_paper_verdict(gap)] if record.paper_first else []),
        )
        for gap in gaps
    )
    return Table("Every gap with its verdict", columns, rows, names=_names(gaps)).without_empty_columns


def rules_table(record: StudyRecord) -> Table:
    """How each verdict was reached: by the rule that decides, then by the rule of the CPG paper."""
    gaps = study_gaps(record)
    titles = ("rule", "verdict", "interval", "reason")
    columns = (*_name_columns(gaps), *(TableColumn(title, title == "interval") for title in titles))
    rows = tuple(
        (
            *_name_cells(gap, gaps),
            TableCell(rule),
            TableCell(verdict.label),
            _verdict_interval(estimate_from(verdict.interval)),
            TableCell(verdict.reason),
        )
        for gap in gaps
        for rule, verdict in sorted(gap.entry.verdicts.items(), key=lambda one: one[0] == PAPER)
    )
    return Table("How each verdict was reached", columns, rows, names=_names(gaps) + 1)


def further_table(record: StudyRecord) -> Table:
    """Further numbers of each gap; columns in which nothing was requested are left out."""
    gaps = study_gaps(record)
    titles = ("p", "only oracle", "only model", "relative loss", "return gap")
    claims = ("these checkpoints", "this training recipe")
    columns = (
        *_name_columns(gaps),
        TableColumn("method", False),
        *map(TableColumn, (*titles, *claims, "n that decides")),
        TableColumn("failures of the model's arm", False),
    )
    rows = tuple((*_name_cells(gap, gaps), *_further_cells(gap)) for gap in gaps)
    return Table("Further numbers of each gap", columns, rows, names=_names(gaps)).without_empty_columns


def missing_table(record: StudyRecord) -> Table:
    """Cells whose episodes are incomplete."""
    columns = (TableColumn("cell", False), TableColumn("episodes missing"), TableColumn("reason", False))
    rows = tuple(
        (TableCell(one.cell), TableCell(str(one.episodes), value=one.episodes), TableCell(one.reason))
        for one in record.missing
    )
    return Table("Incomplete cells", columns, rows)


def _name_columns(gaps: Sequence[StudyGap]) -> list[TableColumn]:
    return [TableColumn(title, False) for title in ("setting", "model")[-_names(gaps) :]]


def _name_cells(gap: StudyGap, gaps: Sequence[StudyGap]) -> list[TableCell]:
    return [TableCell(gap.place), TableCell(gap.title)][-_names(gaps) :]


def _names(gaps: Sequence[StudyGap]) -> int:
    """How many cells name a gap: a setting is named if there are several."""
    return 2 if any(gap.differs for gap in gaps) else 1


def _further_cells(gap: StudyGap) -> list[TableCell]:
    entry, claims = gap.entry, gap.entry.claims
    both = [undefined("one seed was trained")] * 2
    if claims is not None:
        both = [estimate_cell(claims.these_checkpoints), estimate_cell(claims.this_training_recipe)]
    split = ", ".join(f"{share:.3f} by {cause}" for cause, share in entry.failure_split.items() if share)
    return [
        TableCell(entry.gap_method),
        p_value_cell((entry.p_value or entry.mid_p).value, (entry.p_value or entry.mid_p).reason),
        _count(entry.oracle_only, "the arms are not paired"),
        _count(entry.learned_only, "the arms are not paired"),
        estimate_cell(entry.relative_loss),
        estimate_cell(entry.return_gap, 2),
        *both,
        _count(gap.verdict.n_that_decides, _why_no_number(gap)),
        TableCell(split) if split else undefined(_why_no_split(entry)),
    ]


def _why_no_split(entry: CPGEntry) -> str:
    if entry.learned_success_rate == 1:
        return "no episode of the model failed"
    return "the model fails less often than the oracle, on other seeds"


def _count(value: int | None, reason: str) -> TableCell:
    return undefined(reason) if value is None else TableCell(str(value), value=value)


def _why_no_number(gap: StudyGap) -> str:
    return "no number of episodes is known to decide" if gap.is_open else "the gap is decided"


def _floor(gap: StudyGap) -> TableCell:
    """The success of random actions."""
    card = gap.comparison.scorecards.get(FLOOR)
    return undefined("random actions were not run") if card is None else metric_cell(card, "success_rate")


def _paper_verdict(gap: StudyGap) -> TableCell:
    label = gap.entry.verdict_paper
    return undefined(EARLY) if label is None else TableCell(label)


def _interval(gap: StudyGap) -> Estimate:
    entry = gap.entry
    return Estimate(entry.gap, entry.gap_ci_low, entry.gap_ci_high, entry.n_episodes_oracle, entry.gap_method)


def _verdict_interval(interval: Estimate) -> TableCell:
    if interval.low is None or interval.high is None:
        return undefined(interval.reason or "it has no interval")
    return TableCell(format_interval(interval), value=(interval.low, interval.high))


def _episodes(gap: StudyGap) -> TableCell:
    """Episodes per arm, once if both arms have as many."""
    counts = (gap.entry.n_episodes_oracle, gap.entry.n_episodes_learned)
    return TableCell(" / ".join(map(str, dict.fromkeys(counts))), value=counts)


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
        for row, labels in zip(rows, _swept_labels(rows, [row.labels for row in rows]), strict=True)
    ]


def label_texts(record: Any) -> list[dict[str, str]]:
    """What is swept, as people write it, for every row of a sweep or a study; empty where a row has no such setting."""
    if record.kind == "sweep":
        return [{name: label_text(value) for name, value in point.swept.items()} for point in record.points]
    rows = _all_rows(record) if record.kind == "study" else []
    labels = list(dict.fromkeys(label for row in rows for label in row.labels))
    texts = [{one: label_text(row.labels[one]) if one in row.labels else "" for one in labels} for row in rows]
    return _swept_labels(rows, texts)


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


def _swept_labels(rows: Sequence[_Row], labels: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    names, numbers = _columns(rows)
    sweeps = {label: setting for row in rows for label, setting in row.sweeps.items()}
    return label_columns(labels, sweeps, [*names, *numbers])


def _gap_row(gap: StudyGap) -> _Row:
    one = gap.comparison
    labels = {**one.labels, **one.arm_labels.get(gap.model, {})}
    return _Row({"setting": gap.place, "model": gap.model}, labels, one.sweeps, gap_numbers(gap.entry))


def gap_numbers(entry: CPGEntry) -> dict[str, Any]:
    """The numbers of one gap, by the name of their column."""
    return {
        "oracle_success": entry.oracle_success_rate,
        "model_success": entry.learned_success_rate,
        "gap": entry.gap,
        "low": entry.gap_ci_low,
        "high": entry.gap_ci_high,
        "verdict": entry.verdict,
    }


def _arm_rows(place: str, one: ComparisonEntry) -> Iterator[_Row]:
    for arm, card in one.scorecards.items():
        measured = {name: card.estimates[metric].value for name, metric in MEASURED.items() if metric in card.estimates}
        labels = {**one.labels, **one.arm_labels.get(arm, {})}
        numbers = {**_row_interval("success", card.estimates["success_rate"]), **measured, "episodes": card.episodes}
        yield _Row({"setting": place, "model": arm}, labels, one.sweeps, numbers)


def _reading_row(one: ReadingEntry, taken: Collection[str]) -> _Row:
    """A number whose name is taken is qualified by its diagnostic."""
    diagnostic = one.diagnostic["name"]
    named = {"setting": part_label(one.environment), "model": one.arm, "diagnostic": diagnostic}
    names = {**named, **{word: text for word, text in one.words.items() if word not in named}, "seed": one.seed}
    numbers = {}
    for name, entry in one.values.items():
        numbers |= _row_interval(f"{diagnostic}.{name}" if name in (*taken, *names) else name, entry)
    return _Row(names, one.labels, one.sweeps, numbers)


def _row_interval(name: str, entry: EstimateEntry) -> dict[str, Any]:
    """A number, and the ends of its interval where it has one."""
    ends = {} if entry.low is None else {f"{name}_low": entry.low, f"{name}_high": entry.high}
    return {name: entry.value, **ends}
