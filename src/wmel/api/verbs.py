"""What makes a function a verb: all its options in one signature, checked and converted for every caller."""

import functools
import inspect
import re
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from wmel.api.options import FORCE, Option, SettingOf, SettingsOf
from wmel.catalog import REGISTRIES
from wmel.errors import (
    BadInput,
    WmelError,
    describe_error,
    is_number,
    locate_error,
    shorten_values,
    suggest_name,
)
from wmel.files import read_text, refuse_foreign_files
from wmel.settings import Meaning, Setting

ACCEPTED: dict[str, tuple[str, Any]] = {  # kinds of options whose values are checked before a verb begins
    "path": ("a path", (str, Path)),
    "flag": ("true or false", bool),
    "text": ("text", str),
}
FLAG = re.compile(r"(?<![\w-])(?P<flag>--[a-z][a-z-]*)(?:=(?P<value>[\w.:]+)| (?P<number>\d+)\b)?")  # in a message
_FORCE = inspect.Parameter("force", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, FORCE])
NUMBERS = {"whole": int, "number": float}
Verb = TypeVar("Verb", bound=Callable[..., Any])


def verb(function: Verb) -> Verb:
    """A decorator of verbs: the options of its groups are filled in, and what it does not take is bad input.

    `function(**options: Unpack[Group])` gets every option of the group, those not given at their defaults. Options that
    are settings of parts are moved into `settings`.
    """
    own, group, part = _read_options(function)
    has_more = part is not None
    known = {name: one for name, one in own.parameters.items() if one.kind is not one.VAR_KEYWORD} | group
    outputs = [name for name, one in known.items() if getattr(mark_of(one), "is_output", False)]
    known |= {"force": _FORCE} if outputs else {}
    rest = [one for one in own.parameters.values() if one.kind is one.VAR_KEYWORD and has_more]

    def bind(*values: Any, **arguments: Any) -> inspect.BoundArguments:
        unknown = next((name for name in arguments if name not in known and not has_more), None)
        if unknown is not None:
            raise BadInput(_refusal(function.__name__, known, unknown, arguments))
        may_replace = outputs and _convert(_FORCE, arguments.pop("force", False))
        try:
            bound = own.bind(*values, **arguments)
        except TypeError as error:
            raise BadInput(f"wmel.{function.__name__}: {error}") from None
        bound.apply_defaults()
        options = {name: one.default for name, one in group.items()} | _rest_of(bound)
        if part is not None:
            options |= _parse_settings(part, bound, {key: one for key, one in options.items() if key not in known})
        named = {name: value for name, value in bound.arguments.items() if name in known} | options
        named = {name: _convert(known[name], value) if name in known else value for name, value in named.items()}
        for name, one in own.parameters.items():
            if one.kind is one.VAR_KEYWORD:
                bound.arguments[name] = _merge_settings({key: named[key] for key in options}, group, named)
            elif name in named:
                bound.arguments[name] = named[name]
        written = [Path(named[name]) for name in outputs if named[name] is not None]
        if written and not may_replace:
            refuse_foreign_files(written)
        return bound

    def call_with_flags(*values: Any, **arguments: Any) -> Any:
        try:
            bound = bind(*values, **arguments)
            return function(*bound.args, **bound.kwargs)
        except BadInput as error:
            shorten_values(error, (*values, *arguments.values()))
            raise
        except BaseException as error:
            if isinstance(error, Exception | KeyboardInterrupt):
                raise
            raise WmelError(f"{describe_error(error)}{locate_error(error)}") from error  # a part called sys.exit

    @functools.wraps(function)
    def call(*values: Any, **arguments: Any) -> Any:
        try:
            return call_with_flags(*values, **arguments)
        except WmelError as error:
            error.args = tuple(name_parameters(one, known) if isinstance(one, str) else one for one in error.args)
            raise

    vars(call)["with_flags"] = call_with_flags
    parameters = sorted([*known.values(), *rest], key=lambda one: one.kind)
    vars(call)["__signature__"] = own.replace(parameters=parameters)
    call.__doc__ = f"{function.__doc__}\n\nOptions:\n{_option_lines(known)}"
    return call  # pyright: ignore[reportReturnType]


def with_flags(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The verb as the command line calls it: messages name flags. Of any other caller they name parameters."""
    return getattr(verb, "with_flags", verb)


def name_parameters(message: str, known: Mapping[str, inspect.Parameter]) -> str:
    """A message in which `--rerun=changed` is `rerun="changed"`, `--keep` `keep=True` and `--env` `environment=`."""
    options = {name: mark for name, one in known.items() if isinstance(mark := mark_of(one), Option)}
    by_flag = {flag: name for name, option in options.items() for flag in option.flags}

    def name_parameter(found: re.Match[str]) -> str:
        flag, value, number = found["flag"], found["value"], found["number"]
        name = by_flag.get(flag, flag.removeprefix("--").removeprefix("no-").replace("-", "_"))
        if value or number:
            return f"{name}={number}" if number else f'{name}="{value}"'
        if flag.startswith("--no-"):
            return f"{name}=False"
        return f"{name}=True" if name in options and options[name].kind == "flag" else f"{name}="

    return FLAG.sub(name_parameter, message)


def own_settings(verb: Callable[..., Any]) -> SettingsOf | None:
    """The part all of whose settings are options of a verb, where there is one."""
    for one in inspect.signature(verb).parameters.values():
        for mark in getattr(one.annotation, "__metadata__", ()):
            if isinstance(mark, SettingsOf):
                return mark
    return None


def mark_of(parameter: inspect.Parameter) -> Any:
    """How a parameter of a verb is declared: an `Option` or a `SettingOf`; None for any other."""
    return next(iter(getattr(parameter.annotation, "__metadata__", ())), None)


def setting_pairs(texts: Any) -> dict[str, Any]:
    """Settings as {"planner.elites": 8}, or as texts such as planner.elites=8; one given twice is refused."""
    if isinstance(texts, Mapping):
        return dict(texts)
    if texts is not None and not isinstance(texts, list | tuple):
        raise BadInput(f'settings are {{"planner.elites": 8}}, or texts such as planner.elites=8; got {texts!r}')
    found: dict[str, Any] = {}
    for text in texts or ():
        key, sign, value = str(text).partition("=")
        if not sign:
            raise BadInput(f"a setting is written as KIND.NAME=VALUE, such as planner.elites=8; got {text!r}")
        if key.strip() in found:
            kind, _, name = key.strip().partition(".")
            raise BadInput(given_twice(kind, None, name, found[key.strip()], value.strip()))
        found[key.strip()] = value.strip()
    return found


def _read_options(
    function: Callable[..., Any],
) -> tuple[inspect.Signature, dict[str, inspect.Parameter], SettingsOf | None]:
    """The signature of a verb, the options of its group as parameters, and the part whose settings it takes too."""
    own = inspect.signature(function)
    rest = next((one.annotation for one in own.parameters.values() if one.kind is one.VAR_KEYWORD), None)
    marks = getattr(rest, "__metadata__", ())
    unpacked = [typing.get_args(rest)[0]] if typing.get_origin(rest) is typing.Unpack else []
    group = next((one for one in (*unpacked, *marks) if typing.is_typeddict(one)), None)
    hints = {} if group is None else typing.get_type_hints(group, include_extras=True)
    parameters = {
        name: inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=hint,
            default=getattr(hint.__metadata__[0], "default", None),
        )
        for name, hint in hints.items()
    }
    return own, parameters, next((mark for mark in marks if isinstance(mark, SettingsOf)), None)


def _rest_of(bound: inspect.BoundArguments) -> dict[str, Any]:
    """The keywords that are no parameters of the function itself."""
    for name, one in bound.signature.parameters.items():
        if one.kind is one.VAR_KEYWORD:
            return dict(bound.arguments[name])
    return {}


def _parse_settings(mark: SettingsOf, bound: inspect.BoundArguments, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a part that are texts, as the command line takes them, turned into values."""
    part = mark.part or next(iter(bound.arguments.values()))
    name = part.get("name") if isinstance(part, Mapping) else part
    texts = {key: value for key, value in settings.items() if isinstance(value, str)}
    return REGISTRIES[mark.kind].parse(name, texts) if texts and isinstance(name, str) else {}


def _convert(parameter: inspect.Parameter, value: Any) -> Any:
    """The value of an option as the verb takes it; what is no path, number or text is refused."""
    option = mark_of(parameter)
    if isinstance(option, SettingOf) and not option.merged and isinstance(value, str):
        return REGISTRIES[option.kind].parse(option.part, {parameter.name: value})[parameter.name]
    if not isinstance(option, Option) or (value is None and parameter.default is None):
        return value
    if option.kind in ("wholes", "numbers"):
        kind = int if option.kind == "wholes" else float
        listed = [value] if is_number(value) else value
        return _split_numbers(listed, kind, parameter.name) if isinstance(listed, str) else listed
    if option.kind in NUMBERS:
        return _parse_number(option, value, parameter.name)
    if parameter.annotation.__origin__ is Any:
        return value  # the verb judges it
    word, types = ACCEPTED.get(option.kind, ("", object))
    if not isinstance(value, types):
        raise BadInput(f"{parameter.name} takes {word}, got {value!r}")
    return value


def _parse_number(option: Option, value: Any, name: str) -> Any:
    """A number, or the text of one as the command line takes it."""
    declared = Setting(name, NUMBERS[option.kind], None, Meaning(at_least=option.at_least, at_most=option.at_most))
    return declared.parse(value) if isinstance(value, str) else declared.check(value)


def _split_numbers(text: str, kind: type, name: str) -> list[Any]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    named = "whole numbers" if kind is int else "numbers"
    try:
        numbers = [kind(word) for word in words]
    except ValueError:
        numbers = []
    if not numbers:
        raise BadInput(f"{name} takes one or more {named} separated by commas, got {text[:80]!r}")
    return numbers


def given_twice(kind: str, part: Any, name: str, one: Any, other: Any) -> str:
    """Why a setting with two values is refused; a part that has no name here is called by its kind."""
    return (
        f"{f'{kind} {part!r}: {name}' if isinstance(part, str) else f'{kind}.{name}'} is given twice: {one} and {other}"
    )


def _merge_settings(
    options: dict[str, Any], group: Mapping[str, inspect.Parameter], named: Mapping[str, Any]
) -> dict[str, Any]:
    """The options with those that are settings of parts among `settings`; `named` are all arguments of the verb."""
    marks = {name: mark_of(one) for name, one in group.items()}
    merged = {name: mark for name, mark in marks.items() if isinstance(mark, SettingOf) and mark.merged}
    if "settings" not in group:
        return options
    settings = setting_pairs(options["settings"])
    for name, mark in merged.items():
        value, key = options.pop(name), f"{mark.kind}.{name}"
        if value is None:
            continue
        if key in settings:
            part = named.get(mark.kind, named.get("policy") if mark.kind == "planner" else None)
            raise BadInput(given_twice(mark.kind, part, name, settings[key], value))
        settings[key] = _read_layout(value) if name == "layout" else value
    return {**options, "settings": settings}


def _read_layout(layout: Any) -> Any:
    """The drawing of a grid: the text of a file, unless it is the drawing itself."""
    if not isinstance(layout, str | Path) or "\n" in str(layout):
        return layout
    return read_text(Path(layout))


def _option_lines(known: Mapping[str, inspect.Parameter]) -> str:
    """What each option means, for `help` and notebooks; of a setting, where it is explained."""
    marks = {name: mark_of(one) for name, one in known.items()}
    words = {
        name: mark.help if isinstance(mark, Option) else f"Setting of the {mark.kind}; `wmel list {mark.part}`."
        for name, mark in marks.items()
        if isinstance(mark, Option | SettingOf)
    }
    return "\n".join(f"    {name}: {text}" for name, text in words.items())


def _refusal(name: str, known: Mapping[str, inspect.Parameter], unknown: str, arguments: Mapping[str, Any]) -> str:
    """Why a keyword is refused: with the option whose flag it is, the nearest one, or where settings go."""
    words = f"wmel.{name} has no parameter '{unknown}'"
    marks = {option: mark_of(one) for option, one in known.items()}
    meant = [one for one, mark in marks.items() if isinstance(mark, Option) and f"--{unknown}" in mark.flags]
    if meant:
        return f"{words}; did you mean '{meant[0]}'?"
    near = suggest_name(unknown, known)
    hint = f'; a setting of a part goes into settings={{"planner.{unknown}": {arguments[unknown]!r:.80}}}'
    return f"{words}{hint if 'settings' in known and 'did you mean' not in near else ''};{near}"
