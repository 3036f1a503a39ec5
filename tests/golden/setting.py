"""What a golden case is: a setting to run, or any other numbers, computed as columns of JSON values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import wmel
from tests.golden.encoding import encode_rows

EVERY_BLOCK = (1, 4, 50)
NOT_COMPARED = ("planning_latencies_ms",)
Columns = dict[str, list[Any]]
DependsOn = Literal["nothing", "physics", "learned"]  # what else but the code decides the numbers; see machine.py


@dataclass(frozen=True)
class Setting:
    """A policy in an environment for a few episodes."""

    environment: str
    policy: str | Callable[[Any], Any]  # a name of the catalogue, or a function of the environment
    horizon: int
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the policy
    environment_settings: Mapping[str, Any] = field(default_factory=dict)
    model: Callable[[Any], Any] | None = None  # of the environment; None: the policy takes none
    wrap: Callable[[Any], Any] | None = None  # the environment in another one
    episodes: int = 3
    seed: int | tuple[int, ...] = 0  # several: so many episodes of each, where something perturbs
    criterion: str | None = None
    stop: str | None = None
    perturbation: str | None = None
    perturb_prob: float = 0.0
    perturb_step: int | None = None
    blocks: tuple[int, ...] = (50,)
    depends_on: DependsOn = "nothing"

    def compute(self, block: int) -> Columns:
        """The outcome columns, with so many episodes stepped together."""
        environment = wmel.environment(self.environment, **self.environment_settings)
        environment = environment if self.wrap is None else self.wrap(environment)
        settings = dict(self.settings)
        if self.model is not None:
            settings["model"] = self.model(environment)
        made = self.policy if callable(self.policy) else None
        policy = made(environment) if made else wmel.policy(str(self.policy), environment, **settings)
        criterion = None if self.criterion is None else wmel.Criterion.parse(self.criterion)
        shared = {"criterion": criterion, "stop": self.stop, "block": block, "timed_decisions": 0}
        if self.perturb_prob == 0:
            seeds = wmel.episode_seeds(self.seed, self.episodes)
            return _columns(wmel.run_episodes(environment, policy, seeds, max_steps=self.horizon, **shared))
        runner = wmel.BenchmarkRunner(
            environment,
            policy,
            episodes=self.episodes,
            horizon=self.horizon,
            perturb_prob=self.perturb_prob,
            perturbation=None if self.perturbation is None else wmel.perturbation(self.perturbation),
            perturb_step=self.perturb_step,
            seed=self.seed,
            **shared,
        )
        return _columns(runner.run().table)


@dataclass(frozen=True)
class Numbers:
    """Any other numbers that must stay: a function without arguments that returns columns."""

    function: Callable[[], Mapping[str, Any]]
    depends_on: DependsOn = "learned"
    blocks: tuple[int, ...] = (0,)

    def compute(self, block: int) -> Columns:
        return {name: encode_rows(rows) for name, rows in self.function().items()}


def _columns(table: Any) -> Columns:
    return {name: encode_rows(rows) for name, rows in table.columns.items() if name not in NOT_COMPARED}


def plan_settings(plan_horizon: int, candidates: int, **more: Any) -> dict[str, Any]:
    """Settings of a planner; both numbers are explicit, because their defaults may change."""
    return {"plan_horizon": plan_horizon, "candidates": candidates, **more}
