"""The polars tables of a study."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from wmel.contract.cell import Cell
from wmel.experiments.parquet import frame_of, read_frame
from wmel.experiments.store import Store, StoredBlock


def cells_frame(cells: list[Cell]) -> pl.DataFrame:
    """One row per cell; what a study sweeps has columns of its own, parts are JSON."""
    return pl.DataFrame([_row(cell) for cell in cells], infer_schema_length=None)


def episodes_frame(store: Store, cells: list[Cell]) -> pl.DataFrame:
    """One row per stored episode, with the key and the names of its cell."""
    frames = [
        _frame(block).with_columns(
            pl.lit(cell.key).alias("key"),
            pl.lit(cell.name).alias("cell"),
            pl.lit(cell.task.environment["name"]).alias("environment"),
            pl.lit(cell.arm.name).alias("arm"),
            pl.lit(cell.seed).alias("seed"),
        )
        for cell in cells
        for block in store.blocks(cell)[0]
    ]
    return pl.concat(frames, how="diagonal") if frames else pl.DataFrame()


def _frame(block: StoredBlock) -> pl.DataFrame:
    return read_frame(block.rows) if isinstance(block.rows, Path) else frame_of(block.rows)


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
        **cell.labels,
    }


def _json(part: Any) -> str | None:
    return None if part is None else json.dumps(part)
