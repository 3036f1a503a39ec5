"""The table of episodes, one row each: every number wmel reports is a function of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wmel.errors import BadInput

COLUMNS: Mapping[str, np.dtype] = {
    "episode_seed": np.dtype(np.int64),
    "judged": np.dtype(bool),  # there was a criterion of success
    "success": np.dtype(bool),
    "steps": np.dtype(np.int64),  # executed
    "first_success_step": np.dtype(np.int64),  # -1: never
    "plan_calls": np.dtype(np.int64),
    "model_steps": np.dtype(np.int64),  # imagined, as counted
    "declared_compute": np.dtype(np.float64),  # imagined, as the policy declares per plan call; NaN: it declares none
    "return": np.dtype(np.float64),  # NaN: no reward, or the episode stopped at success
    "pre_solved": np.dtype(bool),
    "perturbed": np.dtype(bool),  # a perturbation struck before the episode ended
    "unperturbed_success": np.dtype(np.float64),  # 1 or 0: the same seed left alone; NaN: not run
    "error": np.dtype(object),  # "": none
    "rewards": np.dtype(object),  # of every step [steps], or None where the environment gives none
    "planning_latencies_ms": np.dtype(object),  # a tuple of the decisions timed at batch 1
}
OUTCOMES = tuple(name for name in COLUMNS if name != "planning_latencies_ms")


@dataclass(frozen=True, eq=False)
class EpisodeTable:
    """Plain numpy columns of one length, in the order the episodes were asked for."""

    columns: Mapping[str, np.ndarray]

    def __post_init__(self):
        if set(self.columns) != set(COLUMNS):
            raise BadInput(f"an episode table has the columns {', '.join(COLUMNS)}; got {', '.join(self.columns)}")
        lengths = {len(column) for column in self.columns.values()}
        if len(lengths) > 1:
            raise BadInput(f"the columns of an episode table must have one length, got {sorted(lengths)}")

    def __len__(self) -> int:
        return len(self.columns["episode_seed"])

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def where(self, **equal: object) -> "EpisodeTable":
        """The rows whose columns equal the given values."""
        keep = np.ones(len(self), dtype=bool)
        for name, value in equal.items():
            keep &= self.columns[name] == value
        return EpisodeTable({name: column[keep] for name, column in self.columns.items()})

    def of_seeds(self, seeds: np.ndarray) -> "EpisodeTable":
        """The rows of some episodes, in the order of the table."""
        keep = np.isin(self.columns["episode_seed"], seeds)
        return EpisodeTable({name: column[keep] for name, column in self.columns.items()})

    def with_column(self, name: str, column: np.ndarray) -> "EpisodeTable":
        """The table with one column replaced."""
        return EpisodeTable({**self.columns, name: column})


def blank_columns(rows: int) -> dict[str, np.ndarray]:
    """Columns to be filled in: nothing succeeded, nothing failed, nothing was counted."""
    columns = {name: np.zeros(rows, dtype=kind) for name, kind in COLUMNS.items()}
    columns["judged"][:] = True
    columns["rewards"][:] = None
    columns["first_success_step"][:] = -1
    columns["declared_compute"][:] = np.nan
    columns["return"][:] = np.nan
    columns["unperturbed_success"][:] = np.nan
    columns["error"][:] = ""
    for row in range(rows):
        columns["planning_latencies_ms"][row] = ()
    return columns


def stacked(tables: Sequence[EpisodeTable]) -> EpisodeTable:
    """The rows of all tables, one after the other."""
    return EpisodeTable({name: np.concatenate([table[name] for table in tables]) for name in COLUMNS})
