"""Stored results judged by another criterion."""

from dataclasses import replace

from wmel.analysis.rescore import rescored
from wmel.contract.cell import CellResult
from wmel.contract.criterion import Criterion
from wmel.errors import BadInput


def rescored_results(results: list[CellResult], criterion: Criterion) -> list[CellResult]:
    """Every run of a study judged anew from its stored rewards."""
    return [one if one.run is None else _rescored(one, criterion) for one in results]


def _rescored(one: CellResult, criterion: Criterion) -> CellResult:
    assert one.run is not None
    try:
        table = rescored(one.run.table, criterion, horizon=one.run.horizon, stop=one.run.stop)
    except BadInput as error:
        raise BadInput(f"{one.cell.name}: {error}") from error
    return replace(one, run=replace(one.run, success=str(criterion), table=table))
