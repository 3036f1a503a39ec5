"""Perturbations from text such as `drop-next-5`, as {name, **settings}, and built. A composite has other ones."""

from collections.abc import Mapping, Sequence
from typing import Any

from wmel.errors import BadInput, suggest_name
from wmel.parts import Registry, name_and_settings


def perturbation_as_data(perturbation: str | Mapping[str, Any], registry: Registry) -> dict[str, Any]:
    """A perturbation as {name, **settings}, from that or from text."""
    if isinstance(perturbation, str):
        return parse_perturbation(perturbation, registry)
    name, settings = name_and_settings(perturbation, "perturbation")
    if name == "composite":
        return {"name": name, "parts": [perturbation_as_data(part, registry) for part in _parts_of(settings)]}
    if not settings and not registry.has(name):
        return parse_perturbation(name, registry)
    return registry.spec(name, settings).data


def build_perturbation(data: Mapping[str, Any], registry: Registry) -> Any:
    """Builds a perturbation from {name, **settings}."""
    name, settings = name_and_settings(data, "perturbation")
    if name == "composite":
        return registry.load(name)(*(build_perturbation(part, registry) for part in settings["parts"]))
    return registry.build(name, **settings)


def parse_perturbation(text: str, registry: Registry) -> dict[str, Any]:
    """Parses the text of a perturbation: env-default, drop-next-5, observation-noise-0.1@20, composite:A+B."""
    if text.startswith("composite:"):
        parts = [part.strip() for part in text.removeprefix("composite:").split("+")]
        return {"name": "composite", "parts": [parse_perturbation(part, registry) for part in parts if part]}
    by_length = sorted(registry.built_in, key=len, reverse=True)  # before plugins, which cannot replace a built-in part
    for name in (*by_length, *(name for name in registry.parts if name not in registry.built_in)):
        if text == name:
            return registry.spec(name).data
        if text.startswith(f"{name}-"):
            return _parse_strength(name, text, registry)
    return registry.spec(text).data


def _parts_of(settings: Mapping[str, Any]) -> Sequence[Any]:
    """The perturbations of a composite, which is its only setting."""
    unknown = [name for name in settings if name != "parts"]
    if unknown:
        known = suggest_name(unknown[0], ["parts"], "it takes")
        raise BadInput(f"perturbation 'composite' has no setting '{unknown[0]}';{known}")
    parts = settings.get("parts")
    if not isinstance(parts, list | tuple) or not parts:
        raise BadInput(f"perturbation 'composite' requires parts, a list of perturbations; got {parts!r}")
    return parts


def _parse_strength(name: str, text: str, registry: Registry) -> dict[str, Any]:
    """A perturbation with the strength and the optional window at the end of its text."""
    strength, _, window = text.removeprefix(f"{name}-").partition("@")
    settings = list(registry.settings_of(name))
    if not settings:
        raise BadInput(f"perturbation '{name}' has no strength, got '{text}'")
    if window and "window" not in settings:
        raise BadInput(f"perturbation '{name}' lasts one step and has no window, got '{text}'")
    values = {settings[0]: _parse_number(strength, text), **({"window": _parse_number(window, text)} if window else {})}
    return registry.spec(name, values).data


def _parse_number(word: str, text: str) -> int | float:
    """An int if the word is written as a whole number, else a float."""
    try:
        return int(word) if word.lstrip("-").isdecimal() else float(word)
    except ValueError:
        raise BadInput(f"{word!r} in '{text}' is not a number") from None
