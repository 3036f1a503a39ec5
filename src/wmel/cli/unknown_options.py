"""Why an option that a command does not have is refused: with the setting that was meant, and how it is written."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from wmel.errors import WmelError, suggest_name

if TYPE_CHECKING:
    from wmel.parts import Registry

NAMING = {"train": "trainer", "diagnose": "diagnostic"}  # verbs whose argument is a part, by its kind
VALUED = (
    "--env",
    "--environment",
    "--model",
    "--output",
    "--out",
    "--set",
)  # their options whose value is no such part
SWITCHES = ("--quiet", "--json", "--debug")


def describe_refusal(error: Any, typed: list[str], verb: Callable[..., Any] | None) -> str:
    """What was typed wrong; an unknown option may be a setting of a part that the call names."""
    from wmel.catalog import REGISTRIES

    option, kind = getattr(error, "option_name", None), NAMING.get(next(iter(typed), ""))
    if option is None:
        return error.format_message()
    setting = option.lstrip("-").replace("-", "_")
    part = None if kind is None else part_of(typed, REGISTRIES[kind])
    own = {} if kind is None or part is None else REGISTRIES[kind].settings_of(part)
    if setting in own:
        return f"{kind} '{part}': {error.format_message()}"
    for owner, name in _named_parts(verb, typed):
        if setting in _settings_of(owner, name):
            spelling = f"--set {owner.kind}.{setting}={_value_of(option, typed)}"
            return f"no such option: {option}; it is a setting of {owner.kind} '{name}': {spelling}"
    if part is None:
        return error.format_message()
    return f"{kind} '{part}' has no setting '{setting}';{suggest_name(setting, own, 'it takes')}"


def part_of(typed: list[str], registry: "Registry") -> str | None:
    """The part that a call of `train` or `diagnose` names, wherever it stands; None where there is none.

    Which options take a value is not known before the part is: a name of the catalogue comes first, then a word that
    follows no option.
    """
    after = typed[1:]
    words = [(word, before) for word, before in zip(after, ["", *after], strict=False) if not word.startswith("-")]
    free = [word for word, before in words if before not in VALUED]
    known = [word for word in free if registry.has(word)]
    alone = [word for word, before in words if not before.startswith("-") or before in SWITCHES]
    return next(iter([*known, *alone]), None)


def _named_parts(verb: Callable[..., Any] | None, typed: list[str]) -> Iterator[tuple["Registry", str]]:
    """The parts that the options of a call name, or that are their defaults."""
    from wmel.api.options import Option
    from wmel.api.verbs import mark_of

    for name, parameter in ({} if verb is None else inspect.signature(verb).parameters).items():
        option = mark_of(parameter)
        if isinstance(option, Option) and option.names and not option.is_argument:
            flags = (f"--{name.replace('_', '-')}", *option.flags)
            values = [value for flag in flags for value in _values_of(flag, typed)]
            for value in values or [parameter.default]:
                found = _part_named(option.names, value) if isinstance(value, str) else None
                if found is not None:
                    yield found


def _part_named(kinds: Sequence[str], text: str) -> tuple["Registry", str] | None:
    """The part of some kinds that a text names; None for an unknown one, which is refused elsewhere."""
    from wmel import catalog
    from wmel.analysis.scorecard import metric_data

    registries = [catalog.CATALOGUE[kind] for kind in kinds if kind in catalog.CATALOGUE]
    try:
        if catalog.PERTURBATIONS in registries:
            return catalog.PERTURBATIONS, catalog.perturbation_data(text)["name"]
        if catalog.METRICS in registries:
            return catalog.METRICS, metric_data(text)["name"]
        if ":" in text and catalog.TRAINERS in registries:
            return catalog.MODELS, text
        if ":" in text and catalog.PLANNERS in registries:
            return (catalog.PLANNERS if catalog.is_planner(text) else catalog.POLICIES), text
    except WmelError:
        return None
    return next(((one, text) for one in registries if one.has(text) or ":" in text), None)


def _settings_of(registry: "Registry", name: str) -> set[str]:
    """The settings of a part and those that stand beside it; none of a part that cannot be imported."""
    from wmel.experiments.keys import ENTRY_SETTINGS

    try:
        return {*registry.settings_of(name), *ENTRY_SETTINGS.get(registry.kind, ())}
    except WmelError:
        return set()


def _value_of(option: str, typed: list[str]) -> str:
    """What was typed for an option, or a word for it."""
    return next((value for value in _values_of(option, typed) if not value.startswith("--")), "VALUE")


def _values_of(option: str, typed: list[str]) -> list[str]:
    """The values that were typed for an option, apart or after `=`."""
    joined = [word.partition("=")[2] for word in typed if word.startswith(f"{option}=")]
    return [*(value for flag, value in pairwise(typed) if flag == option), *joined]
