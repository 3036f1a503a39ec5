"""Results of episodes: the columns of their table, the table itself, and a run, which is a table with its settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np

from wmel.contract.criterion import Stop
from wmel.errors import BadInput
from wmel.stats.estimate import Estimate

PLANNING = ("planner", "plan_horizon", "evaluations", "execute", "objective")  # settings of policies that plan


@dataclass(frozen=True)
class Column:
    """One value of every episode: a number, a text or a series.

    `missing` is the value where there is none: null in JSON, and the value read from a store without the column. An
    outcome depends on the episode seed alone, a measure also on the machine. A series has one number per step or
    decision.
    """

    name: str
    dtype: Any
    missing: Any
    doc: str
    kind: Literal["outcome", "measure"] = "outcome"
    is_series: bool = False
    can_be_missing: bool = True
    is_positive: bool = False
    since_2_0: bool = True  # False: added later, so older records and stores lack it

    @property
    def is_always_stored(self) -> bool:
        """Whether a store without the column is damaged."""
        return self.since_2_0 and not self.can_be_missing

    def blank(self, rows: int) -> np.ndarray:
        """A column [rows] filled with the missing value."""
        if self.dtype is not object:
            return np.full(rows, self.missing, self.dtype)
        column = np.empty(rows, object)
        for row in range(rows):  # numpy would broadcast an empty tuple over the rows
            column[row] = self.missing
        return column

    def is_missing(self, value: Any) -> bool:
        """Whether a value means that there is none."""
        if isinstance(self.missing, float) and np.isnan(self.missing):
            return bool(np.isnan(value))
        return self.can_be_missing and (value is None or (not self.is_series and value == self.missing))


EPISODE_COLUMNS: tuple[Column, ...] = (
    Column("episode_seed", np.int64, 0, "the seed of the episode", can_be_missing=False),
    Column("judged", bool, True, "whether there was a success criterion", can_be_missing=False),
    Column("success", bool, False, "whether the episode succeeded", can_be_missing=False),
    Column("steps", np.int64, 0, "executed steps", can_be_missing=False),
    Column("first_success_step", np.int64, -1, "the step that established success", is_positive=True),
    Column("plan_calls", np.int64, 0, "decisions", can_be_missing=False),
    Column("model_steps", np.int64, 0, "imagined steps, as counted", can_be_missing=False),
    Column("declared_compute", np.float64, np.nan, "imagined steps, as the policy declares them"),
    Column("return", np.float64, np.nan, "sum of rewards; missing: no reward, or the episode stopped at success"),
    Column("pre_solved", bool, False, "whether the start needs no action", can_be_missing=False),
    Column("perturbed", bool, False, "whether a perturbation occurred before the end", can_be_missing=False),
    Column("unperturbed_success", np.float64, np.nan, "1 or 0: the same seed, unperturbed; missing: not run"),
    Column("error", object, "", "the error that ended the episode"),
    Column(
        "rewards",
        object,
        None,
        "reward of every step; always stored with rows, in a .json record with --rewards",
        is_series=True,
    ),
    Column("planning_latencies_ms", object, (), "times of single decisions at batch 1", "measure", True, False),
)
COLUMNS: Mapping[str, Column] = {column.name: column for column in EPISODE_COLUMNS}
OUTCOMES = tuple(column.name for column in EPISODE_COLUMNS if column.kind == "outcome")


@dataclass(frozen=True, eq=False)
class EpisodeTable:
    """Plain numpy columns of one length, in the order the episodes were requested."""

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

    def __repr__(self) -> str:
        judged = self.columns["judged"].any() if len(self) else False
        rate = f", {self.columns['success'].mean():.3f} succeeded" if judged else ""
        return f"EpisodeTable({len(self)} episodes{rate})"

    def rows(self, keep: Any) -> "EpisodeTable":
        """Some rows, by index or mask."""
        return EpisodeTable({name: column[keep] for name, column in self.columns.items()})

    def first(self, count: int) -> "EpisodeTable":
        """The first `count` rows."""
        return self.rows(slice(count))

    def where(self, **equal: object) -> "EpisodeTable":
        """The rows whose columns equal the given values."""
        keep = np.ones(len(self), dtype=bool)
        for name, value in equal.items():
            keep &= self.columns[name] == value
        return self.rows(keep)

    def of_seeds(self, seeds: np.ndarray) -> "EpisodeTable":
        """The rows of the given episode seeds, in the order of the table."""
        return self.rows(np.isin(self.columns["episode_seed"], seeds))

    def read_only(self) -> "EpisodeTable":
        """The same table, with columns and series that cannot be written. Nothing is copied."""
        if not any(column.flags.writeable for column in self.columns.values()):
            return self
        views = {name: column.view() for name, column in self.columns.items()}
        series = (one for column in views.values() if column.dtype == object for one in column)
        for array in (*views.values(), *(one for one in series if isinstance(one, np.ndarray))):
            array.flags.writeable = False
        return EpisodeTable(views)

    def with_column(self, name: str, column: np.ndarray) -> "EpisodeTable":
        """The table with one column replaced."""
        return EpisodeTable({**self.columns, name: column})


def blank_columns(rows: int) -> dict[str, np.ndarray]:
    """Columns of missing values, to be filled in."""
    return {column.name: column.blank(rows) for column in EPISODE_COLUMNS}


def concatenate_tables(tables: Sequence[EpisodeTable]) -> EpisodeTable:
    """The rows of all tables, in order."""
    return EpisodeTable({name: np.concatenate([table[name] for table in tables]) for name in COLUMNS})


class Metric(Protocol):
    def __call__(self, table: EpisodeTable) -> Estimate: ...


@dataclass(frozen=True)
class Coverage:
    """Visited states along an axis from -top to top, with the shares above 1/2 and 3/4 of top."""

    axis: str
    states: int
    mean: float
    most: float
    above_half: float
    above_three_quarters: float
    histogram: tuple[int, ...]  # counts in equal parts of the axis


@dataclass(frozen=True, eq=False)
class Run:
    """The episodes of one policy in one environment, with all settings."""

    environment_name: str
    policy_name: str
    policy_reads: Literal["observation", "state"]
    policy_settings: Mapping[str, Any]
    seeds: tuple[int, ...]
    horizon: int
    perturb_prob: float
    perturbation: str | None
    layout: str | None  # drawing of a grid world
    init: str | None  # how start states are chosen, where there is a choice
    success: str | None  # the criterion; None: there is none
    stop: Stop
    latency_threads: int
    versions: Mapping[str, str]
    table: EpisodeTable
    parts: Mapping[str, Any] = field(default_factory=dict)  # by kind, {name, **settings}; empty outside of studies
    coverage: Coverage | None = None  # of the visited states, for environments with a coverage axis
    error_places: Mapping[str, str] = field(default_factory=dict)  # error -> the line that raised it; not stored

    def __repr__(self) -> str:
        return f"Run({self.policy_name} in {self.environment_name}, {self.table!r})"

    @property
    def setting(self) -> dict[str, Any]:
        """The settings that two arms of a comparison must share: all but the model."""
        planned = {name: value for name, value in self.policy_settings.items() if name not in ("model", "weights")}
        return {
            "environment": self.environment_name,
            "layout": self.layout,
            "start": self.init,
            "seeds": self.seeds,
            "horizon": self.horizon,
            "success": self.success,
            "stop": self.stop,
            "perturbation": self.perturbation,
            "perturb_prob": self.perturb_prob,
            **planned,
        }

    @property
    def data(self) -> dict[str, Any]:
        """All fields but the table, parts, coverage and places of errors, as a store keeps them."""
        excluded = ("table", "parts", "coverage", "error_places")
        fields = {name: value for name, value in vars(self).items() if name not in excluded}
        return {**fields, "policy_settings": dict(self.policy_settings), "versions": dict(self.versions)}

    def differences(self, other: "Run", *, apart_from: tuple[str, ...] = ()) -> dict[str, tuple[Any, Any]]:
        """The settings and package versions that differ between two runs. Packages of only one run are ignored."""
        packages = self.versions.keys() & other.versions.keys()
        one, another = (
            {**run.setting, **{f"version of {package}": run.versions[package] for package in packages}}
            for run in (self, other)
        )
        names = [name for name in {**one, **another} if name not in apart_from]
        return {
            name: (one.get(name), another.get(name)) for name in names if not _agree(one.get(name), another.get(name))
        }


def _agree(one: Any, other: Any) -> bool:
    """Whether two settings are equal. Of parts, only settings of both are compared: a newer one was at its default."""
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return one == other
    return all(one[key] == other[key] for key in one.keys() & other.keys())


@dataclass(frozen=True, eq=False)
class SweepPoint:
    """One point of a sweep: the swept settings and their run."""

    swept: Mapping[str, Any]
    run: Run

    @property
    def plan_horizon(self) -> int | None:
        """The planning horizon of the run, whether it is swept or not."""
        return self.run.policy_settings.get("plan_horizon")


def pool_runs(runs: Sequence[Run]) -> Run:
    """The runs of one arm on several seeds as one run. Raises BadInput if they differ in anything else."""
    first = runs[0]
    for run in runs[1:]:
        for name, (one, other) in first.differences(run, apart_from=("seeds",)).items():
            raise BadInput(
                f"seeds {first.seeds[0]} and {run.seeds[0]} cannot be pooled: {name} is {one!r} in one and {other!r} "
                "in the other"
            )
    weights = {run.policy_settings.get("weights") for run in runs}
    settings = {**first.policy_settings, **({"weights": "retrained for each seed"} if len(weights) > 1 else {})}
    seeds = tuple(seed for run in runs for seed in run.seeds)
    return replace(
        first,
        policy_settings=settings,
        seeds=seeds,
        table=concatenate_tables([run.table for run in runs]),
        coverage=pool_coverage([run.coverage for run in runs]),
    )


def pool_coverage(coverages: Sequence[Coverage | None]) -> Coverage | None:
    """The coverage of several runs as one. None if no run has a coverage."""
    parts = [one for one in coverages if one is not None]
    if not parts:
        return None
    states = sum(one.states for one in parts)

    def share(name: str) -> float:
        return sum(getattr(one, name) * one.states for one in parts) / states

    return Coverage(
        parts[0].axis,
        states,
        share("mean"),
        max(one.most for one in parts),
        share("above_half"),
        share("above_three_quarters"),
        tuple(sum(counts) for counts in zip(*(one.histogram for one in parts), strict=True)),
    )
