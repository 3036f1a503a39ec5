"""A table as words, whose cells say why they are n/a: the same for a Markdown file and a page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wmel.reports.entries import estimate_from
from wmel.reports.json_envelope import EstimateEntry, ScorecardEntry
from wmel.reports.words import bounds, number
from wmel.stats.estimate import Estimate

NAMED = 4  # more rows than this are counted in a note, not named


class TableCell(NamedTuple):
    """What is shown, and why it is n/a."""

    text: str
    reason: str = ""


class TableColumn(NamedTuple):
    title: str
    is_number: bool = True


@dataclass(frozen=True)
class StudyTable:
    """The first `names` cells of a row say what it is about."""

    caption: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    names: int = 1

    @property
    def notes(self) -> list[str]:
        """Why something is n/a, each reason once, with the places it holds of."""
        places: dict[str, dict[str, list[str]]] = {}
        for row in self.rows:
            for column, cell in zip(self.columns, row, strict=True):
                if cell.reason:
                    name = " / ".join(one.text for one in row[: self.names])
                    places.setdefault(cell.reason, {}).setdefault(column.title, []).append(name)
        return [f"n/a: {reason} ({self._where(columns)})" for reason, columns in places.items()]

    def _where(self, columns: Mapping[str, Sequence[str]]) -> str:
        """The rows by name where they are few."""

        def rows(names: Sequence[str]) -> str:
            if len(names) == len(self.rows) > 1:
                return "every row"
            return ", ".join(names) if len(names) <= NAMED else f"{len(names)} rows"

        return "; ".join(f"{title} of {rows(names)}" for title, names in columns.items())


def undefined(reason: str) -> TableCell:
    return TableCell("n/a", reason or "no reason is recorded")


def metric_cell(card: ScorecardEntry, metric: str, digits: int = 3) -> TableCell:
    """The value of a metric."""
    return _worded(_metric(card, metric), number, digits)


def metric_bounds(card: ScorecardEntry, metric: str, digits: int = 3) -> TableCell:
    """The interval of a metric."""
    return _worded(_metric(card, metric), bounds, digits)


def estimate_cell(entry: EstimateEntry, digits: int = 3) -> TableCell:
    """A value with its interval, where it has one."""
    estimate = estimate_from(entry)
    if estimate.value is None or estimate.low is None:
        return _worded(estimate, number, digits)
    return TableCell(f"{number(estimate, digits)} {bounds(estimate, digits)}")


def p_value_cell(value: float | None, reason: str) -> TableCell:
    """A p-value in two digits; the reason is why there is none."""
    if value is None:
        return undefined(reason)
    return TableCell(f"{value:.2g}" if value >= 1e-4 else "<0.0001")


def _metric(card: ScorecardEntry, name: str) -> Estimate:
    known = card.estimates.get(name)
    return Estimate.undefined("it is not in the record") if known is None else estimate_from(known)


def _worded(estimate: Estimate, words: Callable[[Estimate, int], str], digits: int) -> TableCell:
    text = words(estimate, digits)
    return undefined(estimate.reason or "it has no interval") if text == "n/a" else TableCell(text)
