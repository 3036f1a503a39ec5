"""Commands made from the verbs: options come from a verb's signature and from the settings of the catalogue's parts."""

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wmel.api.options import Option, SettingOf, setting_pairs
from wmel.cli.parameters import KINDS, option_parameter, setting_parameter, split_numbers
from wmel.errors import BadInput
from wmel.parts import Registry, Setting

FLAGS = {  # settings used so often that they have a flag of their own: kind -> names
    "environment": ("init", "action_repeat", "layout"),
    "planner": ("plan_horizon", "candidates", "iterations", "elites", "knots"),
}
COMMON = {
    "json": Option("Print the result as JSON.", "flag"),
    "debug": Option("Show the traceback of an error.", "flag"),
}


@dataclass(frozen=True)
class OwnSettings:
    """Settings of a part that are options of a command."""

    part: str  # such as trainer 'mlp'
    settings: Mapping[str, Setting]

    def value(self, name: str, typed: Any) -> Any:
        """What was typed, as the part takes it."""
        try:
            return typed if isinstance(typed, bool) else self.settings[name].parsed(typed)
        except BadInput as error:
            raise BadInput(f"{self.part}: {error}") from error


def command_of(verb: Callable[..., Any], show: Callable[..., int], own: OwnSettings | None = None) -> Any:
    """A command that calls a verb and hands its result to `show`; `own` are settings that are options of it alone."""
    declared = _declared(verb)
    parts = {} if own is None else dict.fromkeys(own.settings, own)
    parts |= _settings_of_parameters(verb)
    settings = {name for name, (_, option) in declared.items() if "--set" in option.flags}
    short = {} if not settings else _short_flags(declared if own is None else {"environment": None})

    def call(**typed: Any) -> int:
        as_json, debug = typed.pop("json"), typed.pop("debug")
        given = {name: _value(name, declared[name][1], value) for name, value in typed.items() if name in declared}
        beside = {f"{kind}.{one}": _text(one, typed[one]) for one, kind in _kinds(short) if typed.get(one) is not None}
        for name in settings:
            given[name] = _merge(setting_pairs(given.get(name)), beside)
        if "sweep" in declared:
            given["sweep"] = _swept(given.get("sweep")) or None
        extra = {
            name: parts[name].value(name, value)
            for name, value in typed.items()
            if name in parts and name not in declared and value is not None
        }
        given = {name: value for name, value in given.items() if value is not None or declared[name][0].default is None}
        return show(verb, given | extra, as_json=as_json, debug=debug)

    parameters = [option_parameter(name, option, parameter.default) for name, (parameter, option) in declared.items()]
    parameters += [setting_parameter(one) for one in short.values() if one.name not in declared]
    parameters += [setting_parameter(one.settings[name]) for name, one in parts.items() if name not in declared]
    parameters += [option_parameter(name, option, False) for name, option in COMMON.items() if name not in declared]
    parameters.sort(key=lambda one: one.default is not inspect.Parameter.empty)
    call.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    call.__doc__ = verb.__doc__
    return call


def _declared(verb: Callable[..., Any]) -> dict[str, tuple[inspect.Parameter, Option]]:
    """The parameters of a verb that are options, with their declarations."""
    marks = _marks(verb)
    return {
        name: (parameter, marks[name])
        for name, parameter in inspect.signature(verb).parameters.items()
        if isinstance(marks.get(name), Option)
    }


def _settings_of_parameters(verb: Callable[..., Any]) -> dict[str, OwnSettings]:
    """The parameters of a verb that are settings of a part."""
    from wmel.catalog import REGISTRIES

    return {
        name: OwnSettings(f"{mark.kind} '{mark.part}'", REGISTRIES[mark.kind].settings_of(mark.part))
        for name, mark in _marks(verb).items()
        if isinstance(mark, SettingOf)
    }


def _marks(verb: Callable[..., Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(verb, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}


def _short_flags(declared: Mapping[str, Any]) -> dict[str, Setting]:
    """The flags of settings that a verb's parts have."""
    from wmel.catalog import REGISTRIES

    names = {"environment": "environment", "planner": "planner", "policy": "planner"}
    kinds = dict.fromkeys(names[name] for name in declared if name in names)
    return {
        name: setting
        for kind in kinds
        for name in FLAGS[kind]
        if (setting := _find(REGISTRIES[kind], name)) is not None
    }


def _find(registry: Registry, name: str) -> Setting | None:
    """The setting of a name, of the first built-in part that has it; defaults may differ from part to part."""
    from dataclasses import replace

    for part in ("cem", "dmc:cartpole-swingup", "maze_toy"):
        if part in registry.built_in:
            known = registry.settings_of(part)
            if name in known:
                return replace(known[name], default=None)
    return None


def _kinds(short: Mapping[str, Setting]) -> list[tuple[str, str]]:
    return [(name, next(kind for kind, names in FLAGS.items() if name in names)) for name in short]


def _text(name: str, value: Any) -> str:
    """What was typed; a layout is the text of a file."""
    if name != "layout":
        return value
    try:
        return Path(value).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read the layout {value}: {error}") from error


def _value(name: str, option: Option, typed: Any) -> Any:
    if typed is None:
        return None
    if option.kind in ("wholes", "numbers"):
        return split_numbers(typed, int if option.kind == "wholes" else float, f"--{name.replace('_', '-')}")
    return list(typed) if KINDS[option.kind] in (list[str], list[Path]) else typed


def _swept(texts: Any) -> dict[str, Any]:
    pairs = setting_pairs(texts)
    return {key: [part.strip() for part in value.split(",") if part.strip()] for key, value in pairs.items()}


def _merge(settings: dict[str, Any], beside: dict[str, Any]) -> dict[str, Any]:
    for key, value in beside.items():
        if key in settings:
            raise BadInput(f"{key} is given twice: {settings[key]!r} and {value!r}")
    return settings | beside
