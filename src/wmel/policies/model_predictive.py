"""Model-predictive control: a planner as a policy. It plans with a model, executes actions, and plans again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from wmel.arrays import Array, as_like, join_rows, namespace_of, pick, take_rows, to_numpy, to_numpy_if_on_cpu
from wmel.catalog import PLANNERS, build_objective, describe_objective
from wmel.contract.environment import Environment, EnvironmentSpec
from wmel.contract.objective import ModelReward, Objective
from wmel.contract.planner import Plan, Planner, PlanningProblem, Remainder
from wmel.contract.policy import Decision, Percept, Policy
from wmel.contract.world_model import HasReward, WorldModel
from wmel.errors import (
    BadDecision,
    BadInput,
    BadModel,
    NoFiniteCandidate,
    describe_error,
    locate_code,
    require,
    require_whole,
)
from wmel.models.callable_model import adapt_model
from wmel.models.imagine import ImaginedCost
from wmel.models.oracle import Oracle
from wmel.parts import implements
from wmel.randomness import Streams

BYTES_OF_CANDIDATES = 64 << 20  # sampled at a time


def make_plan(planner: Planner, problem: PlanningProblem, previous: Remainder | None) -> Plan:
    """The plan of a planner. Raises BadDecision if the planner returns anything else."""
    plan = planner.plan(problem, previous)
    if not isinstance(plan, Plan):
        place = locate_code(type(planner).plan)
        raise BadDecision(f"plan of {type(planner).__name__} must return a Plan, got a {type(plan).__name__}{place}")
    return plan


def check_execute(execute: int | None, planner: Planner) -> None:
    """Raises BadInput unless a plan has as many actions as are executed."""
    if execute is not None:
        require_whole(execute, "execute")
        require(
            execute <= planner.plan_horizon, f"execute must be at most plan_horizon, {planner.plan_horizon}", execute
        )


def build_decision(
    planner: Planner, plan: Plan, *, horizon: int, execute: int | None, memory: dict[str, Array] | None = None
) -> Decision:
    """The decision to execute a plan, or its first `execute` actions. Rows without a finite cost have an error."""
    lengths = to_numpy(plan.lengths).astype(np.int64)
    unplanned = np.flatnonzero(~np.isfinite(to_numpy(plan.costs)))
    error = NoFiniteCandidate(f"none of {planner.evaluations} candidates had a finite cost")
    return Decision(
        np.array(to_numpy(plan.actions)),  # the planner may write the same array again
        lengths if execute is None else lengths.clip(max=execute),
        memory,
        np.full(len(plan.costs), planner.evaluations * horizon),
        {int(row): describe_error(error) for row in unplanned},
    )


@dataclass(frozen=True)
class ModelPredictive:
    """Plans with a model, an objective and a planner. Executes `execute` actions of each plan; None: the whole plan."""

    name: str
    environment: EnvironmentSpec
    model: WorldModel
    objective: Objective | ModelReward
    planner: Planner
    execute: int | None = None
    parts: Mapping[str, Any] = field(default_factory=dict)  # `planner` and `objective` as {name, **settings}

    def __post_init__(self):
        check_execute(self.execute, self.planner)
        if isinstance(self.objective, ModelReward) and not implements(self.model, HasReward):
            raise BadInput(f"{self.model.spec.name} predicts no reward, which the objective model-reward requires")
        if self.planner.warm_start and self.execute is None:
            raise BadInput("a warm start needs `execute`: no part of a plan is left after all of it is executed")

    @property
    def reads(self) -> Literal["observation", "state"]:
        return self.model.spec.reads

    @property
    def has_warm_start(self) -> bool:
        """Whether the remainder of a plan is passed to the next plan call."""
        requested = self.planner.warm_start
        return self.execute is not None if requested is None else requested

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "plan_horizon": self.planner.plan_horizon,
            "evaluations": self.planner.evaluations,
            "model": self.model.spec.name,
            "weights": self.model.spec.weights,
            "execute": self.execute,
            "planner": self.parts.get("planner") or PLANNERS.describe(self.planner),
            "objective": self.parts.get("objective") or describe_objective(self.objective),
        }

    @property
    def compute_per_plan_call(self) -> int:
        return self.planner.evaluations * self.planner.plan_horizon

    def observe(self, percept: Percept, memory: dict[str, Array] | None) -> dict[str, Array]:
        before = None if memory is None else memory["latents"]
        latents = self.model.encode(percept, before)
        if before is not None and latents.shape != before.shape:
            raise BadModel(f"{self.model.spec.name} changed its latents from {before.shape} to {latents.shape}")
        if not self.has_warm_start:
            return {"latents": latents}
        if memory is None:
            actions = self.environment.actions
            blank = np.zeros((len(percept), self.planner.plan_horizon, actions.width), actions.dtype)
            zeros = as_like(np.zeros(len(percept), np.int64), to_numpy_if_on_cpu(latents))
            memory = {"plan": as_like(blank, to_numpy_if_on_cpu(latents)), "planned": zeros, "steps_left": zeros}
        return {**memory, "latents": latents}

    def act(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision:
        """Plans for all rows, in groups whose candidates fit the memory budget."""
        bytes_per_row = 4 * self.compute_per_plan_call * self.environment.actions.width
        groups = -(-len(percept) * bytes_per_row // BYTES_OF_CANDIDATES)
        if groups == 1:
            return self._plan(percept, memory, streams)
        parts = []
        for rows in np.array_split(np.arange(len(percept)), min(groups, len(percept))):
            parts.append(self._plan(percept.rows(rows), take_rows(memory, rows), streams.rows(rows)))
        return _join_decisions(parts)

    def _plan(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision:
        assert memory is not None, "act follows observe"
        fewest, most = int(percept.steps_left.min()), int(percept.steps_left.max())
        require(fewest == most, "the episodes of one plan call must have as many steps left", (fewest, most))
        horizon = min(self.planner.plan_horizon, fewest)
        latents, actions = memory["latents"], self.environment.actions
        cost = ImaginedCost(
            self.model, self.objective, actions, latents, percept.goal, len(self.environment.observation)
        )
        remainder = self._remainder(percept, memory) if self.has_warm_start else None
        problem = PlanningProblem(cost, actions, streams, horizon, like=to_numpy_if_on_cpu(latents))
        plan = make_plan(self.planner, problem, remainder)
        if self.has_warm_start:
            memory = {**memory, **self._plan_memory(plan, fewest)}
        return build_decision(self.planner, plan, horizon=horizon, execute=self.execute, memory=memory)

    def _remainder(self, percept: Percept, memory: dict[str, Array]) -> Remainder:
        """The last plan without the steps that have passed since."""
        xp, plan, planned = namespace_of(memory["plan"]), memory["plan"], memory["planned"]
        passed = xp.where(planned > 0, memory["steps_left"] - as_like(percept.steps_left, plan), 0)
        steps = xp.arange(plan.shape[1], device=plan.device)[None, :] + passed[:, None]
        return Remainder(pick(plan, steps.clip(max=plan.shape[1] - 1)), (planned - passed).clip(0))

    def _plan_memory(self, plan: Plan, steps_left: int) -> dict[str, Array]:
        """The arrays of the memory that hold a plan, its length, and the number of steps left when it was computed."""
        count, horizon = plan.actions.shape[:2]
        steps = as_like(np.minimum(np.arange(self.planner.plan_horizon), horizon - 1), plan.actions)
        actions = plan.actions[:, steps]  # padded to the planner's horizon; the padding is never read
        whole = as_like(np.full(count, horizon, np.int64), plan.actions)
        return {"plan": actions, "planned": whole, "steps_left": as_like(np.full(count, steps_left, np.int64), actions)}


def planning(
    environment: Environment,
    planner: str | Planner,
    *,
    execute: int | None = None,
    objective: Any = None,
    model: Any = None,
    name: str | None = None,
    **settings: Any,
) -> Policy:
    """The policy of a planner, given as an object or by its catalogue name with settings.

    Args:
        execute: How many actions of each plan are executed; None: all.
        objective: A name, {name, **settings} or an object; None: the first objective of the environment. An object of
            four methods has no objective: it uses its own `score`.
        model: A model; None: the oracle.
    """
    if isinstance(planner, str):
        spec = PLANNERS.spec(planner, settings)
        chosen, described = spec.build(), spec.resolved
    elif settings:
        raise BadInput(f"a planner given as an object already has its settings: leave out {next(iter(settings))}")
    else:
        chosen, described = planner, PLANNERS.describe(planner)
    title: str = name or described["name"]
    adapted: Any
    interface, adapted = adapt_model(model) if model is not None else ("batched", Oracle(environment))
    if interface == "four methods":
        if objective is not None:
            raise BadInput(f"a model of four methods uses its own `score`: leave out the objective '{objective}'")
        from wmel.policies.native import FourMethodsPolicy  # it imports this module

        return FourMethodsPolicy(title, environment.spec, adapted, chosen, execute, parts={"planner": described})
    objective, objective_data = build_objective(objective or environment.spec.objectives[0], environment)
    parts = {"planner": described, "objective": objective_data}
    return ModelPredictive(title, environment.spec, adapted, objective, chosen, execute, parts=parts)


def _join_decisions(parts: list[Decision]) -> Decision:
    """Concatenates the decisions of several groups of rows."""
    starts = np.cumsum([0] + [len(part.lengths) for part in parts[:-1]])
    return Decision(
        np.concatenate([part.actions for part in parts]),
        np.concatenate([part.lengths for part in parts]),
        join_rows([part.memory for part in parts]),
        np.concatenate([part.model_steps for part in parts]),
        {int(start) + row: why for start, part in zip(starts, parts, strict=True) for row, why in part.errors.items()},
    )
