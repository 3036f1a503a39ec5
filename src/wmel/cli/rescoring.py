"""Stored results judged by another criterion."""

from dataclasses import replace

from wmel.analysis.rescore import rescored
from wmel.contract.cell import CellResult
from wmel.contract.criterion import Criterion
from wmel.errors import BadInput


def rescored_results(results: list[CellResult], criterion: Criterion) -> list[CellResult]:
    """Every run of a study judged anew from its stored rewards; those that cannot be are missing, with the reason."""
    judged = [one if one.run is None else _rescored(one, criterion) for one in results]
    if not any(one.run is not None for one in judged):
        reasons = [one.failure for one in judged if one.failure]
        raise BadInput(reasons[0] if reasons else "there is nothing to judge: no episode is stored")
    return judged


def _rescored(one: CellResult, criterion: Criterion) -> CellResult:
    assert one.run is not None
    try:
        table = rescored(one.run.table, criterion, horizon=one.run.horizon, stop=one.run.stop)
    except BadInput as error:
        return replace(one, run=None, missing=one.cell.episodes, failure=str(error))
    return replace(one, run=replace(one.run, success=str(criterion), table=table))
