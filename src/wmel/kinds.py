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


def lacking_methods(kind: str, part: Any) -> list[str]:
    """What an object has not that a part of a kind has."""
    return [name for name in METHODS.get(kind, ()) if not hasattr(part, name)]


def refuse_no_part(kind: str, given: Any) -> None:
    """Refuse an object that has not the methods of its kind."""
    if isinstance(given, type):
        raise BadInput(f"{given.__name__} is a class, and a {kind} is an object: make one of it")
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


def kind_like(attributes: set[str]) -> str | None:
    """The kind of which most is among some attributes; None where nothing is."""
    shares = {kind: len(attributes.intersection(names)) / len(names) for kind, names in METHODS.items()}
    return max(shares, key=lambda kind: shares[kind]) if any(shares.values()) else None


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
