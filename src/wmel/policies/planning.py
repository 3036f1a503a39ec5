"""Any planner of the catalogue as a policy: on the oracle, or on a model of your own."""

from typing import Any

from wmel import catalog
from wmel.catalog import PLANNERS
from wmel.contract.environment import Environment
from wmel.contract.planner import Planner
from wmel.errors import BadInput
from wmel.models.oracle import Oracle
from wmel.policies.four_methods import FourMethodsPolicy
from wmel.policies.model_predictive import ModelPredictive
from wmel.policies.own_model import adapted_model


def planning(
    environment: Environment,
    planner: str,
    *,
    plan_horizon: int = 20,
    candidates: int | None = None,
    execute: int | None = None,
    warm_start: bool | None = None,
    knots: int | None = None,
    objective: str | None = None,
    model: Any = None,
    name: str | None = None,
) -> ModelPredictive | FourMethodsPolicy:
    """A planner by its catalogue name over a model: the oracle unless one is given, in any of the three ways.

    A warm start is on where only some actions of a plan are executed and the model can carry it over.
    """
    if warm_start is None:
        warm_start = execute is not None and (model is None or adapted_model(model)[0] == "batched")
    given = {"candidates": candidates, "knots": knots, "warm_start": warm_start or None}
    settings = {name: value for name, value in given.items() if value is not None}
    if "horizon" in PLANNERS.settings_of(planner):
        settings["horizon"] = plan_horizon
    chosen = PLANNERS.build(planner, **settings)
    model = Oracle(environment) if model is None else model
    return planned_with(name or planner, environment, chosen, model, execute=execute, objective=objective)


def tabular_world_model(
    environment: Environment,
    plan_horizon: int = 20,
    candidates: int = 200,
    objective: str | None = None,
    model: Any = None,
) -> ModelPredictive | FourMethodsPolicy:
    """The documents' planner: random shooting, each plan executed whole."""
    return planning(
        environment,
        planner="random-shooting",
        plan_horizon=plan_horizon,
        candidates=candidates,
        objective=objective,
        model=model,
        name="tabular-world-model",
    )


def planned_with(
    name: str,
    environment: Environment,
    planner: Planner,
    model: Any,
    *,
    execute: int | None = None,
    objective: str | None = None,
) -> ModelPredictive | FourMethodsPolicy:
    """A planner over a model of any of the three ways; the objective is the environment's first unless one is named.

    An object of four methods scores by itself and takes none.
    """
    way, adapted = adapted_model(model)
    if way == "four methods":
        if objective is not None:
            raise BadInput(f"a model of four methods scores by its own `score`; objective '{objective}' has no use")
        return FourMethodsPolicy(name, environment.spec, adapted, planner, execute)
    score = catalog.objective(objective or environment.spec.objectives[0], environment)
    return ModelPredictive(name, environment.spec, adapted, score, planner, execute)
