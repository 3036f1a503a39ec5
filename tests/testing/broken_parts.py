"""Parts that break their promises on purpose, one way each: what the kits must reject."""

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wmel.contract.criterion import Criterion
from wmel.contract.environment import EnvironmentSpec, Finite
from wmel.contract.perturbation import PendingStep
from wmel.contract.planner import Plan, PlanningProblem
from wmel.contract.world_model import WorldModelSpec
from wmel.perturbations import NoEffect
from wmel.planners.random_shooting import RandomShooting
from wmel.randomness import Streams
from wmel.schema import EpisodeTable
from wmel.stats.estimate import Estimate


class LeakyEnvironment:
    """Rows are pulled towards the mean of their batch, and starts ignore the seed without saying so."""

    spec = EnvironmentSpec("leaky", ("x",), Finite(("left", "right")), max_steps=20)
    default_criterion = Criterion("x", at_least=5.0)

    def reset(self, seeds: np.ndarray) -> np.ndarray:
        return np.zeros((len(seeds), 1))

    def step(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return states + 2 * actions - 1 + 0.1 * (states + actions).mean()

    def observe(self, states: np.ndarray) -> np.ndarray:
        return states

    def goals(self, states: np.ndarray) -> np.ndarray:
        return np.full((len(states), 1), 5.0)

    def quantities(self, states: np.ndarray, actions: np.ndarray, next_states: np.ndarray) -> dict[str, np.ndarray]:
        return {"x": next_states[:, 0]}


class PeekingModel:
    """Needs the true state while declaring that it reads the observation, and its rollout is not its step."""

    spec = WorldModelSpec("peeking", reads="observation")

    def encode(self, percept: Any, previous: Any) -> np.ndarray:
        return percept.observation + 0 * percept.state

    def step(self, latents: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return latents + 1

    def decode(self, latents: np.ndarray) -> np.ndarray:
        return latents

    def rollout(self, latents: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return np.repeat(latents[:, None], actions.shape[1] + 1, axis=1)


@dataclass(frozen=True)
class OptimisticPlanner:
    """Takes NaN for the best cost there is, and declares half of what it evaluates."""

    plan_horizon: int = 5
    warm_start: bool = False

    @property
    def evaluations(self) -> int:
        return 16

    def plan(self, problem: PlanningProblem, previous: Any) -> Plan:
        def flattered(candidates: np.ndarray) -> Any:
            outcome = problem.cost(candidates)
            return replace(outcome, costs=np.nan_to_num(outcome.costs, nan=-1e9))

        return RandomShooting(self.plan_horizon, 32).plan(replace(problem, cost=flattered), None)


_CALLS = itertools.count()


@dataclass(frozen=True)
class RestlessPerturbation(NoEffect):
    """Counts its calls in a global counter, so that no two calls in a row do the same."""

    name: str = "restless"
    window: int | None = 1

    def strike(self, environment: Any, pending: PendingStep, streams: Streams) -> PendingStep:
        lost = (next(_CALLS) + np.arange(len(pending.lengths))) % 5
        return replace(pending, lengths=np.maximum(pending.lengths - lost, 0))


def first_row_metric(table: EpisodeTable) -> Estimate:
    """The outcome of whichever episode comes first; 0 where there is none."""
    return Estimate(float(table["steps"][0]) if len(table) else 0.0)
