"""Any planner of the catalogue as a policy: on the oracle, or on a model of your own."""

from typing import Any, Literal

from wmel import catalog
from wmel.catalog import PLANNERS
from wmel.contract.environment import Environment
from wmel.contract.planner import Planner
from wmel.errors import BadInput, described, place_of
from wmel.models.callable_model import CallableModel
from wmel.models.oracle import Oracle
from wmel.policies.four_methods import FourMethodsPolicy
from wmel.policies.model_predictive import ModelPredictive

Way = Literal["batched", "four methods"]
METHODS: dict[Way, tuple[str, ...]] = {
    "batched": ("spec", "encode", "step", "decode"),
    "four methods": ("encode", "rollout", "score", "plan"),
}
WORDS: dict[Way, str] = {"batched": "a batched model", "four methods": "an object with the four methods"}


def adapted_model(thing: Any) -> tuple[Way, Any]:
    """The way a model comes in, and the model; a plain callable is put behind the batched contract.

    One that is both counts as batched. What is neither is refused with the methods it lacks.
    """
    thing = _made(thing) if isinstance(thing, type) else thing
    lacking: dict[Way, list[str]] = {way: _missing(thing, names) for way, names in METHODS.items()}
    for way, missing in lacking.items():
        if not missing:
            return way, thing
    nearest: Way = min(lacking, key=lambda way: len(lacking[way]) / len(METHODS[way]))
    if callable(thing):
        return "batched", CallableModel(thing)
    if len(lacking[nearest]) < len(METHODS[nearest]):
        raise BadInput(f"{type(thing).__name__} is not {WORDS[nearest]}: it lacks {', '.join(lacking[nearest])}")
    raise BadInput(
        f"a model is a batched model ({', '.join(METHODS['batched'])}), an object with the four methods "
        f"({', '.join(METHODS['four methods'])}) or a callable dynamics(state, action); got {type(thing).__name__}"
    )


def _missing(thing: Any, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if getattr(thing, name, None) is None]


def _made(kind: type) -> Any:
    try:
        return kind()
    except Exception as error:
        raise BadInput(f"the class {kind.__name__} cannot be built: {described(error)}{place_of(error)}") from error


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
