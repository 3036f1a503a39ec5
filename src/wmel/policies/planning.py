"""Any planner of the catalogue as a policy: on the oracle, or on a model of your own."""

from typing import Any

from wmel.catalog import PLANNERS
from wmel.contract.environment import Environment
from wmel.contract.planner import Planner
from wmel.contract.world_model import WorldModel
from wmel.errors import BadInput
from wmel.models.callable_model import CallableModel
from wmel.models.oracle import Oracle
from wmel.objectives.goal_distance import GoalDistance
from wmel.policies.four_methods import FourMethods, FourMethodsPolicy
from wmel.policies.model_predictive import ModelPredictive

WAYS = {
    "a batched model": ("spec", "encode", "step", "decode"),
    "an object with the four methods": ("encode", "rollout", "score", "plan"),
}


def planning(
    environment: Environment,
    *,
    planner: str,
    plan_horizon: int = 20,
    candidates: int | None = None,
    execute: int | None = None,
    warm_start: bool = False,
    model: Any = None,
    name: str | None = None,
) -> ModelPredictive | FourMethodsPolicy:
    """A planner by its catalogue name over a model: the oracle unless one is given, in any of the three ways."""
    drawn = {} if candidates is None else {"candidates": candidates}
    chosen = PLANNERS.build(planner, horizon=plan_horizon, warm_start=warm_start, **drawn)
    return planned_with(name or planner, environment, chosen, Oracle(environment) if model is None else model, execute)


def tabular_world_model(
    environment: Environment, plan_horizon: int = 20, candidates: int = 200, model: Any = None
) -> ModelPredictive | FourMethodsPolicy:
    """The documents' planner: random shooting, each plan executed whole."""
    return planning(
        environment,
        planner="random-shooting",
        plan_horizon=plan_horizon,
        candidates=candidates,
        model=model,
        name="tabular-world-model",
    )


def planned_with(
    name: str, environment: Environment, planner: Planner, model: Any, execute: int | None
) -> ModelPredictive | FourMethodsPolicy:
    """A planner over a model of any of the three ways."""
    model = adapted(model)
    if isinstance(model, FourMethods):
        return FourMethodsPolicy(name, environment.spec, model, planner, execute)
    return ModelPredictive(name, environment.spec, model, GoalDistance(), planner, execute)


def adapted(thing: Any) -> WorldModel | FourMethods:
    """A batched model or an object with the four methods as it is, a plain callable behind the model contract.

    What is none of these is refused with the methods it lacks.
    """
    thing = thing() if isinstance(thing, type) else thing
    lacking = {way: [method for method in methods if method not in dir(thing)] for way, methods in WAYS.items()}
    for missing in lacking.values():
        if not missing:
            return thing
    nearest = min(lacking, key=lambda way: len(lacking[way]) / len(WAYS[way]))
    if len(lacking[nearest]) < len(WAYS[nearest]):
        raise BadInput(f"{type(thing).__name__} is not {nearest}: it lacks {', '.join(lacking[nearest])}")
    if not callable(thing):
        raise BadInput(
            f"a model is a batched model ({', '.join(WAYS['a batched model'])}), an object with the four methods "
            f"(encode, rollout, score, plan) or a callable dynamics(state, action); got {type(thing).__name__}"
        )
    return CallableModel(thing)
