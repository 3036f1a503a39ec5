"""Parameters of commands: how an option of a verb, or a setting of a part, looks on the command line."""

import inspect
import typing
from pathlib import Path
from typing import Annotated, Any

import typer

from wmel.api.options import Option
from wmel.cli.completion import names_of
from wmel.errors import BadInput
from wmel.parts import Setting

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


def option_parameter(name: str, option: Option, default: Any) -> inspect.Parameter:
    """The parameter of a command that is an option of a verb."""
    kind = KINDS[option.kind]
    flags = (f"--{name.replace('_', '-')}", *option.flags)
    required = default is inspect.Parameter.empty
    how: dict[str, Any] = {"help": option.help}
    if option.names:
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


def setting_parameter(setting: Setting) -> inspect.Parameter:
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
