"""Commands made from the verbs: an option for each parameter of a verb, and for each setting of its parts."""

import inspect
import os
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from wmel.api.options import Option, SettingOf
from wmel.api.verbs import mark_of, with_flags
from wmel.cli.completion import VARIABLE, names_of
from wmel.errors import BadInput
from wmel.parts import Setting

KINDS = {
    "text": str,
    "whole": str,
    "number": str,
    "flag": bool,
    "path": Path,
    "texts": list[str],
    "wholes": str,
    "numbers": str,
    "paths": list[Path],
}
ALIASES = {"--source": ("--from",)}  # of settings
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
            return typed if isinstance(typed, bool) else self.settings[name].parse(typed)
        except BadInput as error:
            raise BadInput(f"{self.part}: {error}") from error


def command_of(verb: Callable[..., Any], show: Callable[..., int], own: OwnSettings | None = None) -> Any:
    """A command that calls a verb and hands its result to `show`; `own` are settings that are options of it alone."""
    declared = {name: one for name, one in inspect.signature(verb).parameters.items() if mark_of(one) is not None}
    options = {name: one for name, one in declared.items() if isinstance(mark_of(one), Option)}
    settings = {name: mark_of(one) for name, one in declared.items() if isinstance(mark_of(one), SettingOf)}
    parts = {name: _settings_of(mark) for name, mark in settings.items() if not mark.merged}
    parts |= {} if own is None else {name: own for name in own.settings if name not in declared}

    def call(**typed: Any) -> int:
        as_json, debug = typed.pop("json"), typed.pop("debug")
        arguments = {name: value for name, value in typed.items() if value is not None}
        arguments |= {name: parts[name].value(name, value) for name, value in arguments.items() if name in parts}
        return show(with_flags(verb), arguments, as_json=as_json, debug=debug)

    parameters = [_option_parameter(name, mark_of(one), one.default) for name, one in options.items()]
    merged = {name: mark for name, mark in settings.items() if mark.merged}
    parameters += [_setting_parameter(replace(_setting_of(name, mark), default=None)) for name, mark in merged.items()]
    parameters += [_setting_parameter(one.settings[name]) for name, one in parts.items()]
    parameters += [_option_parameter(name, option, False) for name, option in COMMON.items() if name not in declared]
    parameters.sort(key=lambda one: one.default is not inspect.Parameter.empty)
    call.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    call.__doc__ = inspect.unwrap(verb).__doc__
    return call


def _settings_of(mark: SettingOf) -> OwnSettings:
    from wmel.catalog import REGISTRIES

    return OwnSettings(f"{mark.kind} '{mark.part}'", REGISTRIES[mark.kind].settings_of(mark.part))


def _setting_of(name: str, mark: SettingOf) -> Setting:
    return _settings_of(mark).settings[name]


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
    """An option for a setting: the part parses its text by the type of the setting."""
    flag = f"--{setting.name.replace('_', '-')}"
    usual = "" if setting.default in (None, inspect.Parameter.empty) else f"  [default: {_plain(setting.default)}]"
    text = setting.meaning.text
    words = f"{text[:1].upper()}{text[1:]}.{usual}" if text else f"Setting {setting.name}.{usual}"
    if setting.kind is bool:
        info = typer.Option(f"{flag}/--no-{flag[2:]}", help=words, show_default=False)
        kind: Any = bool
    else:
        info = typer.Option(flag, *ALIASES.get(flag, ()), help=words, metavar=f"<{_kind_word(setting)}>")
        kind = str
    default: Any = None
    return inspect.Parameter(
        setting.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind | None, info]
    )


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
