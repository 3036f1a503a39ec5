"""Planning with an object of four methods: `encode, rollout, score, plan` on single observations."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from wmel.arrays import Array
from wmel.catalog import PLANNERS
from wmel.contract.environment import EnvironmentSpec
from wmel.contract.objective import ClosestApproach
from wmel.contract.planner import CandidateCosts, Planner, PlanningProblem
from wmel.contract.policy import Decision, Percept, StatelessPolicy
from wmel.errors import BadInput, BadModel
from wmel.models.imagine import reduce_costs
from wmel.policies.model_predictive import build_decision, check_execute, make_plan
from wmel.randomness import Streams


@runtime_checkable
class FourMethods(Protocol):
    """The four methods. A lower score is better."""

    def encode(self, observation: np.ndarray) -> Any: ...

    def rollout(self, latent: Any, actions: np.ndarray) -> Sequence[Any]: ...

    def score(self, latent: Any, goal: np.ndarray) -> float: ...

    def plan(self, observation: np.ndarray, goal: np.ndarray, horizon: int) -> Sequence[Any]: ...


@dataclass(frozen=True)
class FourMethodsPolicy(StatelessPolicy):
    """A planner over `encode`, `rollout` and `score` of the object. Its `plan` is the policy `native`."""

    name: str
    environment: EnvironmentSpec
    model: FourMethods
    planner: Planner
    execute: int | None = None
    reads: Literal["observation", "state"] = "observation"
    parts: Mapping[str, Any] = field(default_factory=dict)  # `planner` as {name, **settings}

    def __post_init__(self):
        check_execute(self.execute, self.planner)
        if self.planner.warm_start:
            raise BadInput("a warm start needs a batched model: an object with the four methods has none")

    @property
    def compute_per_plan_call(self) -> int:
        return self.planner.evaluations * self.planner.plan_horizon

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "plan_horizon": self.planner.plan_horizon,
            "evaluations": self.planner.evaluations,
            "model": type(self.model).__name__,
            "execute": self.execute,
            "planner": self.parts.get("planner") or PLANNERS.describe(self.planner),
        }

    def act(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision:
        horizon = min(self.planner.plan_horizon, int(percept.steps_left.min()))
        latents = [self.model.encode(observation.copy()) for observation in percept.observation]

        def cost(candidates: np.ndarray) -> CandidateCosts:
            batch, count = candidates.shape[:2]
            values = self.environment.actions.as_values(candidates)
            costs = [
                self._score_steps(latents[row], percept.goal[row], values[row, which])
                for row in range(batch)
                for which in range(count)
            ]
            outcome = reduce_costs(ClosestApproach(), np.array(costs, float))
            return CandidateCosts(outcome.costs.reshape(batch, count), outcome.lengths.reshape(batch, count))

        problem = PlanningProblem(cost, self.environment.actions, streams, horizon, like=percept.observation)
        plan = make_plan(self.planner, problem, None)
        return build_decision(self.planner, plan, horizon=horizon, execute=self.execute)

    def _score_steps(self, latent: Any, goal: np.ndarray, actions: np.ndarray) -> list[float]:
        """The score after each of the actions [H,A]."""
        trajectory = self.model.rollout(copy.deepcopy(latent), actions.copy())  # it may change its arguments
        if len(trajectory) != len(actions) + 1:
            expected = f"{len(actions) + 1} latents for {len(actions)} actions"
            raise BadModel(f"{type(self.model).__name__}.rollout must return {expected}, got {len(trajectory)}")
        return [float(self.model.score(after, goal.copy())) for after in trajectory[1:]]
