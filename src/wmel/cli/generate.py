"""Commands made from the verbs: options come from a verb's signature and from the settings of the catalogue's parts."""

import inspect
import os
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from wmel.api.given import setting_pairs
from wmel.api.options import Option, SettingOf
from wmel.cli.completion import VARIABLE, names_of
from wmel.errors import BadInput
from wmel.parts import Registry, Setting

FLAGS = {  # settings used so often that they have a flag of their own: kind -> names
    "environment": ("init", "action_repeat", "layout"),
    "planner": ("plan_horizon", "candidates", "iterations", "elites", "knots"),
}
KINDS = {
    "text": str,
    "whole": int,
    "number": float,
    "flag": bool,
    "path": Path,
    "texts": list[str],
    "wholes": str,
    "numbers": str,
    "paths": list[Path],
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

    parameters = [_option_parameter(name, option, parameter.default) for name, (parameter, option) in declared.items()]
    parameters += [_setting_parameter(one) for one in short.values() if one.name not in declared]
    parameters += [_setting_parameter(one.settings[name]) for name, one in parts.items() if name not in declared]
    parameters += [_option_parameter(name, option, False) for name, option in COMMON.items() if name not in declared]
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


def _option_parameter(name: str, option: Option, default: Any) -> inspect.Parameter:
    kind = KINDS[option.kind]
    flags = (f"--{name.replace('_', '-')}", *option.flags)
    required = default is inspect.Parameter.empty
    how: dict[str, Any] = {"help": option.help}
    if option.names and VARIABLE in os.environ:
        how["autocompletion"] = names_of(*option.names)
    if option.metavar is not None:
        how["metavar"] = option.metavar
    elif option.kind in ("whole", "number"):
        how["metavar"] = "<int>" if option.kind == "whole" else "<float>"
    if option.kind in ("whole", "number"):
        how["parser"] = _whole if option.kind == "whole" else _number
    if option.is_argument:
        info = typer.Argument(**how)
    elif option.kind == "flag" and default is True:
        info = typer.Option(f"{flags[0]}/--no-{flags[0][2:]}", **how)
    else:
        info = typer.Option(*(_main_first(flags)), **how)
    shown = _shown_default(option, default)
    if required:
        annotation: Any = Annotated[kind, info]
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation)
    annotation = Annotated[kind if shown is not None else kind | None, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=shown, annotation=annotation)


def _setting_parameter(setting: Setting) -> inspect.Parameter:
    """An option for a setting: its text is parsed by the part, which knows its type."""
    flag = "--" + {"source": "from"}.get(setting.name, setting.name.replace("_", "-"))
    usual = "" if setting.default in (None, inspect.Parameter.empty) else f"  [default: {_plain(setting.default)}]"
    text = setting.meaning.text
    words = f"{text[:1].upper()}{text[1:]}.{usual}" if text else f"Setting {setting.name}.{usual}"
    if setting.kind is bool:
        info = typer.Option(f"{flag}/--no-{flag[2:]}", help=words, show_default=False)
        kind: Any = bool
    else:
        info = typer.Option(flag, help=words, metavar=f"<{_kind_word(setting)}>")
        kind = str
    default: Any = None
    return inspect.Parameter(
        setting.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind | None, info]
    )


def split_numbers(text: Any, kind: type, option: str) -> list[Any]:
    """The numbers of an option, separated by commas."""
    words = [word.strip() for word in str(text).split(",") if word.strip()]
    named = "whole numbers" if kind is int else "numbers"
    if not words:
        raise BadInput(f"{option} takes one or more {named} separated by commas, got {text!r}")
    try:
        return [kind(word) for word in words]
    except ValueError:
        raise BadInput(f"{option} takes {named} separated by commas, got {str(text)[:80]!r}") from None


def _main_first(flags: tuple[str, ...]) -> tuple[str, ...]:
    """A flag that is the usual one comes first: `--env` before `--environment`."""
    usual = [flag for flag in flags if flag in ("--env", "--set", "--model", "--metric")]
    return (*usual, *(flag for flag in flags if flag not in usual))


def _shown_default(option: Option, default: Any) -> Any:
    if default is inspect.Parameter.empty or default is None or default == () or default == {}:
        return None
    if option.kind in ("wholes", "numbers"):
        return ",".join(f"{one:g}" for one in default) if isinstance(default, tuple | list) else str(default)
    return default


def _kind_word(setting: Setting) -> str:
    members = [one for one in (typing.get_args(setting.kind) or (setting.kind,)) if one is not type(None)]
    if typing.get_origin(setting.kind) is typing.Literal:
        return "|".join(str(one) for one in members)
    if any(typing.get_origin(one) is typing.Literal for one in members):
        return "|".join(str(one) for member in members for one in typing.get_args(member))
    return {int: "int", float: "float", str: "text"}.get(members[0], "list")


def _plain(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def _whole(text: Any) -> int:
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number") from None


def _number(text: Any) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None
