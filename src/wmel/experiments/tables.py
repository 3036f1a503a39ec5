"""Rows as Parquet files and as polars tables."""

import json
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from wmel.contract.cell import Cell, label_columns
from wmel.errors import BadRecord
from wmel.experiments.store import Store, StoredBlock
from wmel.schema import COLUMNS, EPISODE_COLUMNS, Column, EpisodeTable, blank_columns

SAME_AS_LABEL = ("execute", "criterion")  # columns of every cell that equal their label where they are swept


def to_frame(table: EpisodeTable) -> pl.DataFrame:
    """A table of episodes as a polars frame; a series is a list."""
    return pl.DataFrame([_series(column, table[column.name]) for column in EPISODE_COLUMNS])


def to_table(frame: pl.DataFrame) -> EpisodeTable:
    """A polars frame as a table of episodes; columns that the frame lacks have missing values."""
    columns = blank_columns(len(frame))
    for column in EPISODE_COLUMNS:
        if column.name in frame.columns:
            columns[column.name] = _values(column, frame[column.name])
    return EpisodeTable(columns)


def parquet_bytes(table: EpisodeTable) -> bytes:
    """The Parquet file of a table."""
    buffer = BytesIO()
    to_frame(table).write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def read_rows(path: Path, rows: int, *, rewards: bool) -> EpisodeTable:
    """The first `rows` rows of a file; with the rewards of every step only if `rewards` is set."""
    stored = _stored_columns(path)
    columns = [name for name in COLUMNS if name in stored and (rewards or name != "rewards")]
    return to_table(read_frame(path, columns).head(rows))


def read_frame(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The columns of a stored block, or all of them."""
    try:
        return pl.read_parquet(path, columns=None if columns is None else list(columns), use_pyarrow=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadRecord(f"cannot read {path}: {' '.join(str(error).split())[:200]}") from error


def check_stored_rows(path: Path, count: int) -> None:
    """Raises BadRecord if a block has another length, or lacks a column that is always stored."""
    stored = _stored_columns(path)
    missing = [one.name for one in EPISODE_COLUMNS if one.is_always_stored and one.name not in stored]
    if missing:
        raise BadRecord(f"{path} is damaged: it has no column '{missing[0]}'")
    if read_frame(path, ["episode_seed"]).height != count:
        raise BadRecord(f"{path} is damaged: it does not hold {count} episodes")


def common_error(path: Path) -> str:
    """The error of the first episode of a stored block, if every episode broke; otherwise empty."""
    errors = read_frame(path, ["error"])["error"]
    return errors[0] if len(errors) and (errors != "").all() else ""


def _stored_columns(path: Path) -> set[str]:
    try:
        return set(pl.read_parquet_schema(path))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadRecord(f"cannot read {path}: {' '.join(str(error).split())[:200]}") from error


def _series(column: Column, values: np.ndarray) -> pl.Series:
    if column.is_series:
        lists = [None if one is None else list(one) for one in values]
        return pl.Series(column.name, lists, dtype=pl.List(pl.Float64))
    return pl.Series(column.name, values.tolist() if column.dtype is object else values)


def _values(column: Column, series: pl.Series) -> np.ndarray:
    if column.dtype is not object:
        return series.to_numpy().astype(column.dtype)
    values = np.full(len(series), None, object)
    for row, one in enumerate(series):
        if column.is_series and one is not None:
            one = tuple(one.to_list()) if column.missing == () else one.to_numpy()
        values[row] = one
    return values


def cells_frame(cells: list[Cell]) -> pl.DataFrame:
    """One row per cell. Swept settings have columns of their own; parts are JSON."""
    rows = [_row(cell) for cell in cells]
    taken = [name for name in (rows[0] if rows else ()) if name not in SAME_AS_LABEL]
    return pl.DataFrame(
        [{**row, **labels} for row, labels in zip(rows, _labels(cells, taken), strict=True)], infer_schema_length=None
    )


def episodes_frame(store: Store, cells: list[Cell]) -> pl.DataFrame:
    """One row per stored episode, with the key and names of its cell and the values of swept settings."""
    names = [
        {
            "key": cell.key,
            "cell": cell.name,
            "environment": cell.task.environment["name"],
            "arm": cell.arm.name,
            "seed": cell.seed,
        }
        for cell in cells
    ]
    labels = _labels(cells, [*COLUMNS, *(names[0] if names else ())])
    frames = [
        _frame(block).with_columns(pl.lit(value).alias(name) for name, value in {**named, **swept}.items())
        for cell, named, swept in zip(cells, names, labels, strict=True)
        for block in store.blocks(cell)[0]
    ]
    return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()


def _labels(cells: list[Cell], taken: Sequence[str]) -> list[dict[str, Any]]:
    sweeps = {label: setting for cell in cells for label, setting in cell.sweeps.items()}
    return label_columns([cell.labels for cell in cells], sweeps, taken)


def _frame(block: StoredBlock) -> pl.DataFrame:
    """The rows of a block; columns that were not stored are null."""
    found = read_frame(block.rows) if isinstance(block.rows, Path) else to_frame(block.rows)
    return found.with_columns(pl.lit(None).alias(name) for name in COLUMNS if name not in found.columns)


def _row(cell: Cell) -> dict[str, Any]:
    task, arm = cell.task, cell.arm
    return {
        "key": cell.key,
        "cell": cell.name,
        "environment": task.environment["name"],
        "arm": arm.name,
        "criterion": task.criterion,
        "stop": task.stop,
        "horizon": task.horizon,
        "probability": task.probability,
        "step": task.step,
        "seed": cell.seed,
        "execute": arm.execute,
        "environment_settings": _json(task.environment),
        "perturbation": _json(task.perturbation),
        "planner": _json(arm.planner),
        "objective": _json(arm.objective),
        "policy": _json(arm.policy),
        "model": _json(arm.model),
    }


def _json(part: Any) -> str | None:
    return None if part is None else json.dumps(part)
