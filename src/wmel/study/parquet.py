"""Episode tables as Parquet: the only file that knows polars."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl

from wmel.episodes import COLUMNS, EpisodeTable, blank_columns, stacked
from wmel.errors import BadRecord

LISTS = ("rewards", "planning_latencies_ms")


def frame_of(table: EpisodeTable) -> pl.DataFrame:
    """The columns by name; of steps and decisions, lists."""
    plain = {name: table[name] for name in COLUMNS if name not in (*LISTS, "error")}
    lists = {
        name: pl.Series(name, [None if one is None else list(one) for one in table[name]], dtype=pl.List(pl.Float64))
        for name in LISTS
    }
    return pl.DataFrame({**plain, "error": table["error"].tolist(), **lists}).select(*COLUMNS)


def table_of(frame: pl.DataFrame) -> EpisodeTable:
    """The table a frame was made from; lists that were not read are empty."""
    columns = blank_columns(len(frame))
    for name, kind in COLUMNS.items():
        if name not in frame.columns:
            if name != "rewards":
                raise BadRecord(f"stored rows have no column {name}")
            continue
        values = frame[name]
        if name == "planning_latencies_ms":
            columns[name] = _objects([tuple(one) for one in values.to_list()])
        elif name == "rewards":
            columns[name] = _objects([None if one is None else one.to_numpy() for one in values])
        elif name == "error":
            columns[name] = _objects(values.to_list())
        else:
            columns[name] = values.to_numpy().astype(kind)
    return EpisodeTable(columns)


def parquet_bytes(table: EpisodeTable) -> bytes:
    """The file a table is stored as."""
    buffer = BytesIO()
    frame_of(table).write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def read_rows(files: Sequence[tuple[Path, int]], *, rewards: bool) -> EpisodeTable:
    """The first so many rows of each file, one file after the other; the rewards of steps only if asked for."""
    wanted = [name for name in COLUMNS if rewards or name != "rewards"]
    return stacked([table_of(read_frame(path, wanted).head(rows)) for path, rows in files])


def read_frame(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """A stored block."""
    try:
        return pl.read_parquet(path, columns=None if columns is None else list(columns), use_pyarrow=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadRecord(f"cannot read {path}: {' '.join(str(error).split())[:200]}") from error


def row_count(path: Path) -> int:
    """How many episodes a stored block has."""
    return read_frame(path, ["episode_seed"]).height


def _objects(values: list) -> np.ndarray:
    column = np.empty(len(values), object)
    column[:] = [None] * len(values)
    for row, value in enumerate(values):
        column[row] = value
    return column
