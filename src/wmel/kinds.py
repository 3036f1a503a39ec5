"""What a part of each kind has, and the refusal of what has not."""

import inspect
from collections.abc import Mapping
from typing import Any

from wmel.errors import BadInput

METHODS: Mapping[str, tuple[str, ...]] = {  # methods and attributes; of an objective, `costs` only where it scores
    "environment": ("spec", "reset", "step", "observe", "goals", "quantities", "default_criterion"),
    "planner": ("plan", "plan_horizon", "evaluations", "warm_start"),
    "policy": ("act", "observe", "reads"),
    "objective": ("name", "reduction"),
    "perturbation": ("strike", "sense", "deliver", "carry", "check", "name", "window"),
    "executor": ("__call__",),
    "metric": ("__call__",),
    "diagnostic": ("read", "check", "describe"),
    "trainer": ("train", "resolve", "blank", "model", "check", "forecast"),
}
SIGNS: Mapping[str, tuple[str, ...]] = {  # by which a class or an object is known to be of a kind, the first that fits
    "environment": ("spec", "reset", "step"),
    "planner": ("plan",),
    "policy": ("act",),
    "perturbation": ("strike",),
    "trainer": ("train",),
    "diagnostic": ("read",),
    "objective": ("costs",),
}
MODELS = (("encode", "step"), ("encode", "rollout"))  # what a model has, one way or the other
FIRST_OF_METRIC = "table"  # what a metric is a function of


def lacking_methods(kind: str, part: Any) -> list[str]:
    """What an object has not that a part of a kind has."""
    return [name for name in METHODS.get(kind, ()) if not hasattr(part, name)]


def refuse_no_part(kind: str, given: Any) -> None:
    """Refuse an object that has not the methods of its kind."""
    if isinstance(given, type):
        article = "an" if kind[0] in "aeiou" else "a"
        raise BadInput(f"{given.__name__} is a class, and {article} {kind} is an object: make one of it")
    lacking = lacking_methods(kind, given)
    if lacking:
        raise BadInput(f"{given!r:.80} is no {kind}: give a name, {{name, **settings}} or an object with {lacking[0]}")


def refuse_made_part(kind: str, name: str, made: Any, make: Any) -> None:
    """Refuse what the maker of that name made, if it has not the methods of its kind."""
    lacking = lacking_methods(kind, made)
    if lacking:
        raise _is_no(kind, name, type(made), lacking, make)


def refuse_other_class(kind: str, name: str, make: Any) -> None:
    """Refuse a class that has nothing of its kind: why it cannot be built is beside the point."""
    lacking = lacking_methods(kind, make) if isinstance(make, type) else []
    if lacking and len(lacking) == len(METHODS[kind]):
        raise _is_no(kind, name, make, lacking, make)


def kind_of(thing: Any) -> str | None:
    """The kind that a class, a function or an object belongs to, by its methods; None where nothing tells it."""
    if any(all(hasattr(thing, name) for name in names) for names in MODELS):
        return "model"
    for kind, names in SIGNS.items():
        if all(hasattr(thing, name) for name in names):
            return kind
    if inspect.isfunction(thing):
        made = thing.__annotations__.get("return")
        if isinstance(made, type) and kind_of(made) is not None:
            return kind_of(made)
        return "metric" if _is_of_table(thing) else "model" if _count_needed(thing) == 2 else None  # dynamics
    kind = thing if isinstance(thing, type) else type(thing)
    call = next((vars(one)["__call__"] for one in kind.__mro__ if "__call__" in vars(one)), None)
    return None if call is None else "metric" if _is_of_table(call) else "executor"


def _is_of_table(function: Any) -> bool:
    """Whether the first parameter of a function is the table of episodes, as that of a metric is."""
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    return names[:1] == [FIRST_OF_METRIC]


def _count_needed(function: Any) -> int:
    """How many parameters have no default."""
    return sum(one.default is one.empty for one in inspect.signature(function).parameters.values())


def place_of_definition(make: Any) -> str:
    """Where a maker is defined, in brackets; nothing for one that Python code does not define."""
    try:
        file, line = inspect.getsourcefile(make), inspect.getsourcelines(make)[1]
    except (OSError, TypeError):
        return ""
    return f" ({file}, line {line})"


def _is_no(kind: str, name: str, made: type, lacking: list[str], make: Any) -> BadInput:
    place = place_of_definition(made) or place_of_definition(make)
    return BadInput(f"'{name}' is no {kind}: {made.__name__} has no {', '.join(lacking)}{place}")
