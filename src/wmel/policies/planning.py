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
    planner: str | Planner,
    *,
    execute: int | None = None,
    objective: Any = None,
    model: Any = None,
    name: str | None = None,
    **settings: Any,
) -> ModelPredictive | FourMethodsPolicy:
    """A planner, by its catalogue name with settings or as an object, over a model: the oracle unless one is given.

    `execute` actions of each plan are executed, or the whole plan if None. The objective is the environment's first
    unless one is given: by name, as {name, **settings} or as an object. An object of four methods scores by itself.
    """
    if isinstance(planner, str):
        spec = PLANNERS.spec(planner, settings)
        chosen, described = spec.build(), spec.resolved
    elif settings:
        raise BadInput(f"a planner given as an object has its settings already: leave out {next(iter(settings))}")
    else:
        chosen, described = planner, PLANNERS.describe(planner)
    title: str = name or described["name"]
    way, adapted = adapted_model(Oracle(environment) if model is None else model)
    if way == "four methods":
        if objective is not None:
            raise BadInput(f"a model of four methods scores by its own `score`; objective '{objective}' has no use")
        return FourMethodsPolicy(title, environment.spec, adapted, chosen, execute, parts={"planner": described})
    score, scored_by = catalog.build_objective(objective or environment.spec.objectives[0], environment)
    parts = {"planner": described, "objective": scored_by}
    return ModelPredictive(title, environment.spec, adapted, score, chosen, execute, parts=parts)
