"""Live parts: the methods that each kind has, and an object as data where the catalogue makes the same of it."""

import inspect
from collections.abc import Mapping
from typing import Any

from wmel import catalog
from wmel.errors import BadInput
from wmel.experiments.build import named_environment
from wmel.parts import plain, settings_of, with_article

METHODS = {  # kind -> what a live part of it has; a kind with a sign of its own comes before one with fewer
    "environment": ("spec", "reset", "step"),
    "planner": ("plan",),
    "policy": ("act",),
    "perturbation": ("strike",),
    "trainer": ("train",),
    "diagnostic": ("read",),
    "objective": ("costs",),
    "executor": ("__call__",),
}
MODELS = (("encode", "step"), ("encode", "rollout"))  # what a model has, one way or the other
SIMPLE = (bool, int, float, str)
REPEAT = "action_repeat"  # a setting of environments that are wrapped where it is given
FIRST_OF_METRIC = "table"  # what a metric is a function of


def refuse_no_part(kind: str, given: Any) -> None:
    """Refuse an object that has not the methods of its kind."""
    missing = [name for name in METHODS.get(kind, ()) if not hasattr(given, name)]
    if isinstance(given, type):
        raise BadInput(f"{given.__name__} is a class, and {with_article(kind)} is an object: make one of it")
    if missing:
        raise BadInput(f"{given!r:.80} is no {kind}: give a name, {{name, **settings}} or an object with {missing[0]}")


def kind_of(thing: Any) -> str | None:
    """The kind that a class, a function or an object belongs to, by its methods; None where nothing tells it."""
    if any(all(hasattr(thing, name) for name in names) for names in MODELS):
        return "model"
    for kind, names in METHODS.items():
        if kind != "executor" and all(hasattr(thing, name) for name in names):
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


def readable_settings(part: Any) -> dict[str, Any]:
    """What a live part was made with, as far as its attributes tell and JSON can hold it."""
    found = {one: getattr(part, one, None) for one in settings_of(type(part))}
    return {one: plain(value) for one, value in found.items() if isinstance(value, SIMPLE)}


def describe_environment(environment: Any) -> dict[str, Any] | None:
    """An environment that the catalogue built as {name, **settings}; None for any other."""
    name = environment.spec.name.partition("[")[0]
    settings = getattr(environment, "settings", None)
    if not catalog.ENVIRONMENTS.has(name) or not isinstance(settings, Mapping):
        return None
    if settings.keys() | {REPEAT} != catalog.ENVIRONMENTS.settings_of(name).keys() | {REPEAT}:
        return None  # its settings are not the keywords it was made with
    usual = named_environment({"name": name})
    if type(usual) is not type(environment) and REPEAT not in settings:
        return None
    return {"name": name, **{key: value for key, value in settings.items() if usual.settings.get(key) != value}}
