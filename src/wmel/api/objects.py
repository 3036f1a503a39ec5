"""Live objects as data, where the catalogue makes the same of them."""

from collections.abc import Mapping
from typing import Any

from wmel import catalog
from wmel.experiments.build import named_environment
from wmel.parts import plain, settings_of

SIMPLE = (bool, int, float, str)
REPEAT = "action_repeat"  # a setting of environments that are wrapped where it is given


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
