"""Perturbations as they are typed, as {name, **settings}, and built of it: a composite is made of others."""

from collections.abc import Mapping, Sequence
from typing import Any

from wmel.errors import BadInput, nearest
from wmel.parts import Registry, name_and_settings


def data_of_perturbation(given: str | Mapping[str, Any], registry: Registry) -> dict[str, Any]:
    """A perturbation as {name, **settings}; the text is a shorthand for it."""
    if isinstance(given, str):
        return parse_perturbation(given, registry)
    name, settings = name_and_settings(given, "perturbation")
    if name == "composite":
        return {"name": name, "parts": [data_of_perturbation(part, registry) for part in _parts_of(settings)]}
    if not settings and not registry.has(name):
        return parse_perturbation(name, registry)
    return registry.spec(name, settings).data


def build_perturbation(data: Mapping[str, Any], registry: Registry) -> Any:
    """The perturbation that data describe."""
    name, settings = name_and_settings(data, "perturbation")
    if name == "composite":
        return registry.load(name)(*(build_perturbation(part, registry) for part in settings["parts"]))
    return registry.build(name, **settings)


def parse_perturbation(text: str, registry: Registry) -> dict[str, Any]:
    """A perturbation as it is typed: env-default, drop-next-5, observation-noise-0.1@20, composite:A+B."""
    if text.startswith("composite:"):
        parts = [part.strip() for part in text.removeprefix("composite:").split("+")]
        return {"name": "composite", "parts": [parse_perturbation(part, registry) for part in parts if part]}
    by_length = sorted(registry.built_in, key=len, reverse=True)  # a plugin cannot take over a built-in with a strength
    for name in (*by_length, *(name for name in registry.parts if name not in registry.built_in)):
        if text == name:
            return registry.spec(name).data
        if text.startswith(f"{name}-"):
            return _parse_strength(name, text, registry)
    return registry.spec(text).data


def _parts_of(settings: Mapping[str, Any]) -> Sequence[Any]:
    """The perturbations a composite is made of; it has no other setting."""
    unknown = [one for one in settings if one != "parts"]
    if unknown:
        known = nearest(unknown[0], ["parts"], "it takes")
        raise BadInput(f"perturbation 'composite' has no setting '{unknown[0]}';{known}")
    parts = settings.get("parts")
    if not isinstance(parts, list | tuple) or not parts:
        raise BadInput(f"perturbation 'composite' needs parts, a list of perturbations; got {parts!r}")
    return parts


def _parse_strength(name: str, text: str, registry: Registry) -> dict[str, Any]:
    """A perturbation with the strength, and perhaps the window, that its text ends in."""
    strength, _, window = text.removeprefix(f"{name}-").partition("@")
    settings = list(registry.settings_of(name))
    if not settings:
        raise BadInput(f"perturbation '{name}' takes no strength, got '{text}'")
    if window and "window" not in settings:
        raise BadInput(f"perturbation '{name}' happens at once and has no window, got '{text}'")
    given = {settings[0]: parse_number(strength, text), **({"window": parse_number(window, text)} if window else {})}
    return registry.spec(name, given).data


def parse_number(word: str, text: str) -> int | float:
    """A whole number where it is written as one."""
    try:
        return int(word) if word.lstrip("-").isdecimal() else float(word)
    except ValueError:
        raise BadInput(f"{word!r} in '{text}' is no number") from None
