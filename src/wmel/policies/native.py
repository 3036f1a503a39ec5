"""native: the planner that a model provides: `plan` of an object with the four methods, or MPPI of TD-MPC2."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol, runtime_checkable

import numpy as np

from wmel.arrays import Array
from wmel.catalog import PLANNERS
from wmel.contract.environment import Environment, EnvironmentSpec, Finite, Space
from wmel.contract.objective import ClosestApproach
from wmel.contract.planner import CandidateCosts, Planner, PlanningProblem
from wmel.contract.policy import Decision, Percept, StatelessPolicy
from wmel.contract.world_model import HasPolicy
from wmel.errors import BadDecision, BadInput, BadModel
from wmel.models.callable_model import adapt_model
from wmel.models.imagine import reduce_costs
from wmel.parts import Meaning, implements, settings_of
from wmel.policies.latent_mppi import LatentMPPI, latent_mppi
from wmel.policies.model_predictive import build_decision, check_execute, make_plan
from wmel.randomness import Streams
from wmel.settings import MAX_COUNT


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


@dataclass(frozen=True)
class Native:
    """Calls `plan` for one episode at a time. Each episode has a copy of the object, with its own state."""

    actions: Space
    model: FourMethods
    name: str = "native"
    reads: Literal["observation", "state"] = "observation"
    compute_per_plan_call: int | None = None

    @property
    def settings(self) -> dict[str, Any]:
        return {"model": type(self.model).__name__}

    def observe(self, percept: Percept, memory: dict[str, Array] | None) -> dict[str, Array]:
        return {"model": _object_array([self.model] * len(percept))} if memory is None else memory

    def act(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision:
        assert memory is not None, "act follows observe"
        models = [copy.deepcopy(model) for model in memory["model"]]  # a repeated call starts from the same state
        plans = []
        for row, model in enumerate(models):
            left = int(percept.steps_left[row])
            plan = model.plan(percept.observation[row].copy(), percept.goal[row].copy(), left)
            plans.append(self._convert_plan(list(plan))[:left])
        lengths = np.array([len(plan) for plan in plans])
        actions = np.zeros((len(plans), max(1, lengths.max()), self.actions.width), self.actions.dtype)
        for row, plan in enumerate(plans):
            actions[row, : len(plan)] = plan
        return Decision(actions, lengths, {"model": _object_array(models)}, np.zeros(len(plans), np.int64))

    def _convert_plan(self, plan: list[Any]) -> np.ndarray:
        """A list of actions as an array [K,A]. Finite actions may be names or indices."""
        if not plan:
            return np.zeros((0, self.actions.width), self.actions.dtype)
        if isinstance(self.actions, Finite):
            names = {name: index for index, name in enumerate(self.actions.names)}
            plan = [names.get(action, action) if isinstance(action, str) else action for action in plan]
        array = np.array(plan)
        numbers = np.issubdtype(array.dtype, np.integer if isinstance(self.actions, Finite) else np.number)
        if array.ndim == 1 and self.actions.width == 1:
            array = array[:, None]
        if not numbers or array.shape != (len(plan), self.actions.width):
            raise BadDecision(f"a native plan is a list of actions by name, index or vector, got {plan[:3]!r}")
        if not self.actions.contains(array).all():
            raise BadDecision(f"a native plan is outside the action space: {plan[:3]!r}")
        return array.astype(self.actions.dtype)


def native(
    environment: Environment,
    model: Any = None,
    *,
    plan_horizon: Annotated[int, Meaning("steps a plan looks ahead (tdmpc2)", at_least=1, cap=MAX_COUNT)] = 3,
    iterations: Annotated[
        int | None, Meaning("times it samples; none: 6, or 8 for wide actions", at_least=1, cap=MAX_COUNT)
    ] = None,
    candidates: Annotated[int, Meaning("action sequences per iteration (tdmpc2)", at_least=1, cap=MAX_COUNT)] = 512,
    from_policy: Annotated[
        int, Meaning("how many of them the model's policy proposes", at_least=0, cap=MAX_COUNT)
    ] = 24,
    elites: Annotated[int, Meaning("best sequences it refits to (tdmpc2)", at_least=1)] = 64,
    temperature: Annotated[float, Meaning("how much more better elites count (tdmpc2)", at_least=0)] = 0.5,
) -> Native | LatentMPPI:
    """The policy of an object with the four methods, without settings; or MPPI of a model with a policy."""
    if model is None:
        raise BadInput("the policy native needs a model of your own: --model=package.module:object, or a tdmpc2")
    settings: dict[str, Any] = {
        "plan_horizon": plan_horizon,
        "iterations": iterations,
        "candidates": candidates,
        "from_policy": from_policy,
        "elites": elites,
        "temperature": temperature,
    }
    if implements(model, HasPolicy):
        if not 0 <= from_policy < candidates or elites > candidates:
            raise BadInput(
                f"{candidates} candidates are too few for {elites} elites and {from_policy} sequences of the policy"
            )
        return latent_mppi(environment, model, **settings)
    interface, adapted = adapt_model(model)
    if interface != "four methods":
        raise BadInput(
            "native needs an object with the four methods encode, rollout, score and plan, or a model with a policy of "
            "its own, such as a tdmpc2"
        )
    unused = [name for name, one in settings_of(native).items() if settings[name] != one.default]
    if unused:
        words = ", ".join(unused)
        raise BadInput(f"the method `plan` of {type(adapted).__name__} takes no settings of native: leave out {words}")
    return Native(environment.spec.actions, adapted)


def _object_array(things: list[Any]) -> np.ndarray:
    """An array [B] of Python objects."""
    array = np.empty(len(things), object)
    array[:] = things
    return array
