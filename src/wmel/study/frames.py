"""The tables of `wmel.load`."""

import json
from typing import Any

import polars as pl

from wmel.contract.cell import Cell
from wmel.study.parquet import read_frame
from wmel.study.store import Store

NAMED = (
    "environment",
    "arm",
    "objective",
    "perturbation",
    "perturb_prob",
    "perturb_step",
    "success",
    "stop",
    "horizon",
    "seed",
)


def cells_frame(cells: list[Cell]) -> pl.DataFrame:
    """One row per cell; what a study sweeps has columns of its own, settings are JSON."""
    return pl.DataFrame([_row(cell) for cell in cells], infer_schema_length=None)


def episodes_frame(store: Store, cells: list[Cell]) -> pl.DataFrame:
    """One row per stored episode, with the key and the names of its cell."""
    frames = [
        read_frame(block.rows).with_columns(
            pl.lit(cell.key).alias("key"),
            pl.lit(cell.name).alias("cell"),
            pl.lit(cell.environment).alias("environment"),
            pl.lit(cell.arm).alias("arm"),
            pl.lit(cell.seed).alias("seed"),
        )
        for cell in cells
        for block in store.blocks(cell)[0]
    ]
    return pl.concat(frames) if frames else pl.DataFrame()


def _row(cell: Cell) -> dict[str, Any]:
    settings = {name: json.dumps(getattr(cell, name)) for name in ("environment_settings", "planner", "model")}
    named = {name: getattr(cell, name) for name in NAMED}
    return {"key": cell.key, "cell": cell.name, **named, **settings, **cell.labels}
