"""The methods of parts: those that each kind requires, and how a kind is recognised."""

import inspect
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from wmel.errors import BadInput, describe_error, locate_code, locate_error, refuse_definition, with_article

METHODS: Mapping[str, tuple[str, ...]] = {  # all of its Protocol; an objective may lack `costs` (contract.ModelReward)
    "environment": ("spec", "reset", "step", "observe", "goals", "quantities", "default_criterion"),
    "planner": ("plan", "plan_horizon", "evaluations", "warm_start"),
    "policy": ("act", "observe", "name", "reads", "compute_per_plan_call", "settings"),
    "objective": ("name", "reduction"),
    "perturbation": ("strike", "sense", "deliver", "carry", "check", "name", "window"),
    "executor": ("__call__", "workers"),
    "metric": ("__call__",),
    "diagnostic": ("read", "check", "describe"),
    "trainer": (
        "train", "resolve", "blank", "model", "check", "forecast", "of_card", "rollouts", "checkpoint_updates"
    ),
}  # fmt: skip
SIGNATURES: Mapping[str, tuple[str, ...]] = {  # methods that identify the kind of an object; the first match counts
    "environment": ("spec", "reset", "step"),
    "planner": ("plan",),
    "policy": ("act",),
    "perturbation": ("strike",),
    "trainer": ("train",),
    "diagnostic": ("read",),
    "objective": ("costs",),
}
MODEL_METHODS = (("encode", "step"), ("encode", "rollout"))  # a model has either pair
METRIC_PARAMETER = "table"  # the name of a metric's first parameter
EXECUTOR_PARAMETER = "work"  # the name of an executor's first parameter
ENVIRONMENT_PARAMETER = "environment"  # the name of the first parameter of a policy's or an objective's function


def missing_methods(kind: str, part: Any) -> list[str]:
    """The methods of a kind that an object does not have."""
    return [name for name in METHODS.get(kind, ()) if not hasattr(part, name)]


def check_methods(kind: str, part: Any) -> None:
    """Raises BadInput for an object without the methods of its kind."""
    refuse_definition(kind, part)
    missing = missing_methods(kind, part)
    if missing:
        expected = f"a name, {{name, **settings}} or an object with {', '.join(missing)}"
        raise BadInput(f"{part!r:.80} is not {with_article(kind)}: pass {expected}")


def check_built_part(kind: str, name: str, part: Any, make: Any) -> None:
    """Raises BadInput if the part that `make` returned does not have the methods of its kind."""
    missing = missing_methods(kind, part)
    if missing:
        raise _other_kind(kind, name, type(part), missing, make)


def check_class(kind: str, name: str, make: Any) -> None:
    """Raises BadInput for a class that has none of the methods of its kind."""
    missing = missing_methods(kind, make) if isinstance(make, type) else []
    if missing and len(missing) == len(METHODS[kind]):
        raise _other_kind(kind, name, make, missing, make)


def kind_of(thing: Any) -> str | None:
    """The kind of a class, function or object, by its methods. None if it is unknown."""
    if any(all(hasattr(thing, name) for name in names) for names in MODEL_METHODS):
        return "model"
    for kind, names in SIGNATURES.items():
        if all(hasattr(thing, name) for name in names):
            return kind
    if inspect.isfunction(thing):
        returned = thing.__annotations__.get("return")
        if isinstance(returned, type) and kind_of(returned) is not None:
            return kind_of(returned)
        return "metric" if _takes_table(thing) else "model" if _is_dynamics(thing) else None
    return _kind_of_callable(thing if isinstance(thing, type) else type(thing))


def _kind_of_callable(definition: type) -> str | None:
    """The kind of a class without methods of a kind, by the parameters of its `__call__`."""
    call = next((vars(one)["__call__"] for one in definition.__mro__ if "__call__" in vars(one)), None)
    if call is None:
        return None
    if _takes_table(call):
        return "metric"
    if hasattr(definition, "workers") or _first_parameter(call) == EXECUTOR_PARAMETER:
        return "executor"
    return "model" if _is_dynamics(call) else None


def takes_environment(function: Any) -> bool:
    """Whether the first parameter of a function is the environment, as it is for a policy or an objective."""
    return _first_parameter(function) == ENVIRONMENT_PARAMETER


def count_required_parameters(function: Any) -> int:
    """How many parameters of a function or class have no default."""
    return sum(one.default is one.empty for one in _parameters(function))


def _is_dynamics(function: Any) -> bool:
    """Whether a function or method requires two arguments, as the dynamics of a model: state and action."""
    required = [one.name for one in _parameters(function) if one.default is one.empty]
    return len(required) == 2 and required[0] != ENVIRONMENT_PARAMETER


def _takes_table(function: Any) -> bool:
    """Whether the first parameter of a function is a table of episodes, as it is for a metric."""
    return _first_parameter(function) == METRIC_PARAMETER


def _first_parameter(function: Any) -> str | None:
    return next((one.name for one in _parameters(function)), None)


def _parameters(function: Any) -> list[inspect.Parameter]:
    """The parameters of a function, method or class, without `self`; none if they are unknown."""
    try:
        return [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
    except (TypeError, ValueError):
        return []


def _other_kind(kind: str, name: str, built: type, missing: list[str], make: Any) -> BadInput:
    place = locate_code(built, is_library_shown=True) or locate_code(make, is_library_shown=True)
    return BadInput(f"'{name}' is not {with_article(kind)}: {built.__name__} has no {', '.join(missing)}{place}")


def check_readable(name: str, thing: Any) -> None:
    """Raises BadInput for an object of the user whose attributes, signature or hash raise errors when they are read."""
    if thing is None:
        raise BadInput(f"'{name}' is None, which is no part")
    try:
        hasattr(thing, "plan")
        with suppress(TypeError, ValueError):  # it needs no hash, and a builtin has no signature
            inspect.signature(thing if callable(thing) else type(thing))
            hash(thing)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise BadInput(
            f"'{name}' is no part: it cannot be read: {describe_error(error)}{locate_error(error)}"
        ) from error
