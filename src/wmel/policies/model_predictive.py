"""Model-predictive control: imagine candidates with a model, execute the best, look again."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from wmel.arrays import Array, as_like, join_rows, namespace_of, pick, take_rows
from wmel.contract.environment import EnvironmentSpec
from wmel.contract.objective import Objective
from wmel.contract.planner import Plan, Planner, PlanningProblem, Remainder
from wmel.contract.policy import Decision, Percept
from wmel.contract.world_model import WorldModel
from wmel.errors import BadInput, BadModel, require, require_whole
from wmel.models.imagined_cost import ImaginedCost
from wmel.policies.planned import executed, planned_decision
from wmel.randomness import Streams

BYTES_OF_CANDIDATES = 64 << 20  # drawn at a time


@dataclass(frozen=True)
class ModelPredictive:
    """A model, an objective and a planner in a loop; `execute` actions of each plan, or the whole plan if None."""

    name: str
    environment: EnvironmentSpec
    model: WorldModel
    objective: Objective
    planner: Planner
    execute: int | None = None

    def __post_init__(self):
        if self.execute is not None:
            require_whole(self.execute, "execute")
        if self.planner.warm_start and self.execute is None:
            raise BadInput("a warm start needs `execute`: a plan executed whole leaves nothing to start from")

    @property
    def reads(self) -> Literal["observation", "state"]:
        return self.model.spec.reads

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "plan_horizon": self.planner.horizon,
            "evaluations": self.planner.evaluations,
            "model": self.model.spec.name,
            "execute": self.execute,
            "planner": repr(self.planner),
            "objective": repr(self.objective),
        }

    @property
    def compute_per_plan_call(self) -> int:
        return self.planner.evaluations * self.planner.horizon

    def observe(self, percept: Percept, memory: dict[str, Array] | None) -> dict[str, Array]:
        before = None if memory is None else memory["latents"]
        latents = self.model.encode(percept, before)
        if before is not None and latents.shape != before.shape:
            raise BadModel(f"{self.model.spec.name} changed its latents from {before.shape} to {latents.shape}")
        if not self.planner.warm_start:
            return {"latents": latents}
        if memory is None:
            actions = self.environment.actions
            blank = np.zeros((len(percept), self.planner.horizon, actions.width), actions.dtype)
            memory = {"plan": as_like(blank, latents), "left": as_like(np.zeros(len(percept), np.int64), latents)}
        return {**memory, "latents": latents}

    def act(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision:
        """Plan for all rows, in groups whose candidates fit the memory budget."""
        bytes_per_row = 4 * self.compute_per_plan_call * self.environment.actions.width
        groups = -(-len(percept) * bytes_per_row // BYTES_OF_CANDIDATES)
        if groups == 1:
            return self._plan(percept, memory, streams)
        parts = []
        for rows in np.array_split(np.arange(len(percept)), min(groups, len(percept))):
            parts.append(self._plan(percept.rows(rows), take_rows(memory, rows), streams.rows(rows)))
        return _joined(parts)

    def _plan(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision:
        assert memory is not None, "act follows observe"
        fewest, most = int(percept.steps_left.min()), int(percept.steps_left.max())
        require(fewest == most, "the episodes of one plan call must have as many steps left", (fewest, most))
        horizon = min(self.planner.horizon, fewest)
        latents, actions = memory["latents"], self.environment.actions
        cost = ImaginedCost(
            self.model, self.objective, actions, latents, percept.goal, len(self.environment.observation)
        )
        remainder = Remainder(memory["plan"], memory["left"]) if self.planner.warm_start else None
        plan = self.planner.plan(PlanningProblem(cost, actions, streams, horizon, like=latents), remainder)
        if self.planner.warm_start:
            memory = {**memory, **self._left_over(plan)}
        return planned_decision(self.planner, plan, horizon=horizon, execute=self.execute, memory=memory)

    def _left_over(self, plan: Plan) -> dict[str, Array]:
        """The plan moved up by what is executed of it; what it does not fill is never read."""
        xp, horizon = namespace_of(plan.actions), plan.actions.shape[1]
        done = as_like(executed(plan, self.execute), plan.actions)
        steps = xp.arange(self.planner.horizon, device=plan.actions.device)[None, :] + done[:, None]
        return {"plan": pick(plan.actions, steps.clip(max=horizon - 1)), "left": horizon - done}


def _joined(parts: list[Decision]) -> Decision:
    """The decisions of several groups of rows as one."""
    starts = np.cumsum([0] + [len(part.lengths) for part in parts[:-1]])
    return Decision(
        np.concatenate([part.actions for part in parts]),
        np.concatenate([part.lengths for part in parts]),
        join_rows([part.memory for part in parts]),
        np.concatenate([part.model_steps for part in parts]),
        {int(start) + row: why for start, part in zip(starts, parts, strict=True) for row, why in part.errors.items()},
    )
