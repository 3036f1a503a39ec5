"""The promises of every metric."""

from typing import Any

import numpy as np

from wmel.schema import EpisodeTable, Metric, blank_columns
from wmel.stats.estimate import Estimate
from wmel.testing.findings import Finding, check_promises


def check_metric(metric: Metric) -> list[Finding]:
    """Checks the type of the result, order of rows, an empty table, that a value lies in its interval, and purity."""
    return check_promises(metric, [_estimate, _order, _empty, _interval, _pure])


def _table(rows: int = 40) -> EpisodeTable:
    """Random episodes: short and long, perturbed and not, with and without errors."""
    rng, columns = np.random.default_rng(0), blank_columns(rows)
    columns["episode_seed"][:] = np.arange(rows)
    columns["success"][:] = rng.random(rows) < 0.6
    columns["steps"][:] = rng.integers(1, 60, rows)
    columns["first_success_step"][:] = np.where(columns["success"], columns["steps"], -1)
    columns["plan_calls"][:] = rng.integers(1, 9, rows)
    columns["declared_compute"][:] = 100.0 * columns["plan_calls"]
    columns["perturbed"][:] = rng.random(rows) < 0.7
    columns["unperturbed_success"][:] = rng.random(rows) < 0.9
    columns["error"][:] = np.where(columns["success"], "", rng.choice(["", "broken"], rows))
    for row in range(rows):
        columns["planning_latencies_ms"][row] = tuple(rng.random(5))
        columns["rewards"][row] = rng.random(columns["steps"][row])
    return EpisodeTable(columns)


def _estimate(metric: Any) -> str:
    """It returns an Estimate"""
    found = metric(_table())
    return (
        "" if isinstance(found, Estimate) else f"it returned a {type(found).__name__}; wrap the number in an Estimate"
    )


def _order(metric: Any) -> str:
    """The order of rows is irrelevant"""
    table = _table()
    shuffled = np.random.default_rng(1).permutation(len(table))
    other = EpisodeTable({name: column[shuffled] for name, column in table.columns.items()})
    one, two = metric(table), metric(other)
    if one.n == two.n and all(_close(getattr(one, part), getattr(two, part)) for part in ("value", "low", "high")):
        return ""
    return f"{one} became {two} after shuffling the rows; sort by episode_seed if the order matters"


def _close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return bool(np.isclose(one, other, rtol=1e-9))


def _empty(metric: Any) -> str:
    """An empty table is undefined, with a reason"""
    found = metric(EpisodeTable(blank_columns(0)))
    if found.value is None and found.reason:
        return ""
    return f"it returned {found.value} with the reason {found.reason!r}; return Estimate.undefined(reason)"


def _interval(metric: Any) -> str:
    """A value lies inside its own interval"""
    found = metric(_table())
    if found.value is None or found.low is None or found.low <= found.value <= found.high:
        return ""
    return f"{found.value} lies outside [{found.low}, {found.high}]"


def _pure(metric: Any) -> str:
    """The table is not modified"""
    metric(_table().read_only())  # an attempt to write raises ValueError
    return ""
