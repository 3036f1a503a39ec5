"""A finished run: its table, and what must be said beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from wmel.contract.criterion import Stop
from wmel.errors import BadInput
from wmel.schema import EpisodeTable, stacked

PLANNING = ("planner", "plan_horizon", "evaluations", "execute", "objective")  # settings of arms that plan


@dataclass(frozen=True, eq=False)
class Run:
    """One policy in one environment."""

    environment_name: str
    policy_name: str
    policy_reads: Literal["observation", "state"]
    policy_settings: Mapping[str, Any]
    seeds: tuple[int, ...]
    horizon: int
    perturb_prob: float
    perturbation: str | None
    layout: str | None  # the drawing of a grid world
    init: str | None  # where episodes start, where there is a choice
    success: str | None  # None: no criterion was given
    stop: Stop
    latency_threads: int
    versions: Mapping[str, str]
    table: EpisodeTable

    @property
    def setting(self) -> dict[str, Any]:
        """All that two arms of a comparison must share: everything but the model."""
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

    def differences(self, other: "Run", *, apart_from: tuple[str, ...] = ()) -> dict[str, tuple[Any, Any]]:
        """What of the setting and of the versions is not the same in both; a package only one used does not count."""
        packages = self.versions.keys() & other.versions.keys()
        one, another = (
            {**run.setting, **{f"version of {package}": run.versions[package] for package in packages}}
            for run in (self, other)
        )
        names = [name for name in {**one, **another} if name not in apart_from]
        return {name: (one.get(name), another.get(name)) for name in names if one.get(name) != another.get(name)}


@dataclass(frozen=True, eq=False)
class SweepPoint:
    """One point of a sweep: the settings that are swept, and the run there."""

    swept: Mapping[str, Any]
    run: Run

    @property
    def plan_horizon(self) -> int | None:
        """Of the plans there, swept or not."""
        return self.run.policy_settings.get("plan_horizon")


def pooled(runs: Sequence[Run]) -> Run:
    """Runs of one arm on several seeds as one; those that differ in more are refused by name."""
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
    return replace(first, policy_settings=settings, seeds=seeds, table=stacked([run.table for run in runs]))
