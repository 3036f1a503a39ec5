"""Settings: read from a part's constructor, checked, parsed and explained here and nowhere else.

A part's constructor is the only place its settings are stated: fields of a dataclass made by `setting`, or parameters
of a function or class, annotated with a `Meaning` where there is more to say than their type.
"""

import dataclasses
import functools
import inspect
import math
import types
import typing
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from types import MappingProxyType
from typing import Any

from wmel.errors import BadInput, is_number

MEANING = "meaning"  # the key of a dataclass field's metadata
CONTEXT = ("environment", "model", "name")  # parameters of makers that are no settings


@dataclass(frozen=True)
class Meaning:
    """What a setting means, and the limits of its values."""

    text: str = ""
    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None

    def holds(self, value: Any) -> bool:
        """Whether a number, or every number of a list, lies within the limits; anything else has none."""
        if isinstance(value, list | tuple):
            return all(self.holds(one) for one in value)
        if not is_number(value):
            return True
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.at_most is None or value <= self.at_most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    @property
    def limits(self) -> str:
        """The limits in words, or nothing."""
        words = {"of at least": self.at_least, "above": self.above, "at most": self.at_most, "below": self.below}
        said = [f"{word} {limit}" for word, limit in words.items() if limit is not None and limit != math.inf]
        return " and ".join([*said, *(["finite"] if self.below == math.inf else [])])


def setting(default: Any, text: str, **limits: float) -> Any:
    """A field of a part's dataclass: its default, what it means and its limits."""
    return dataclasses.field(default=default, metadata={MEANING: Meaning(text, **limits)})


@dataclass(frozen=True)
class Setting:
    """One setting of a part."""

    name: str
    kind: Any  # its type, as annotated; None where it is not
    default: Any  # `inspect.Parameter.empty` where it must be given
    meaning: Meaning

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty

    def checked(self, value: Any) -> Any:
        """The value as the part takes it, or BadInput."""
        fitted = _fit(self.kind, value)
        if fitted is _UNFIT or not self.meaning.holds(fitted):
            raise BadInput(f"{self.name} must be {self.expected}, got {value!r}")
        return fitted

    def parsed(self, text: str) -> Any:
        """The value that was typed."""
        usual = None if self.default is None else type(self.default)
        value = _parse(usual if self.kind is None else self.kind, text)
        if value is _UNFIT:
            raise BadInput(f"{self.name} must be {self.expected}, got {text!r}")
        return self.checked(value)

    @property
    def expected(self) -> str:
        """The values it takes, in words."""
        limits, words = self.meaning.limits, _words(self.kind)
        if not limits:
            return words
        if words.endswith(" or none"):
            return f"{words.removesuffix(' or none')} {limits}, or none"
        return f"{words} {limits}"


@functools.cache
def settings_of(make: Any) -> Mapping[str, Setting]:
    """The settings of a maker by name: the parameters of a class; of a function, those with a default or keyword-only.

    What a part is built for (`CONTEXT`) is no setting, and neither is its name.
    """
    inner = make.func if isinstance(make, functools.partial) else make
    is_class = isinstance(inner, type)
    fields = dataclasses.fields(inner) if is_class and dataclasses.is_dataclass(inner) else ()
    meanings = {one.name: one.metadata[MEANING] for one in fields if MEANING in one.metadata}
    hints, found = _hints(inner), {}
    for one in _parameters(make):
        is_setting = is_class or one.default is not one.empty or one.kind is one.KEYWORD_ONLY
        if is_setting and one.name not in CONTEXT:
            kind, annotated = _unwrapped(hints.get(one.name))
            found[one.name] = Setting(one.name, kind, one.default, meanings.get(one.name, annotated))
    return MappingProxyType(found)


def makes_part(make: Any) -> bool:
    """Whether calling it with settings makes a part: a class, or a function that needs nothing else."""
    return isinstance(make, type) or not any(
        one.default is one.empty and one.kind is not one.KEYWORD_ONLY for one in _parameters(make)
    )


def takes(make: Any, name: str) -> bool:
    """Whether a maker has a parameter of this name."""
    return any(one.name == name for one in _parameters(make))


def check_settings(part: Any) -> None:
    """Check a dataclass made of settings, in its `__post_init__`; values are stored as the part takes them."""
    for one in settings_of(type(part)).values():
        value = one.checked(getattr(part, one.name))
        object.__setattr__(part, one.name, value)


def accept_old_names(**names: str) -> Any:
    """A class decorator: for one release the old names of settings work, as keywords and as attributes."""

    def decorate(part: type) -> type:
        construct = part.__init__

        @functools.wraps(construct)
        def translate(self: Any, *values: Any, **settings: Any) -> None:
            for old, new in names.items():
                if old in settings:
                    warnings.warn(f"{part.__name__}: '{old}' is now '{new}'", DeprecationWarning, stacklevel=2)
                    settings[new] = settings.pop(old)
            construct(self, *values, **settings)

        part.__init__ = translate
        for old, new in names.items():
            setattr(part, old, property(lambda self, new=new: getattr(self, new)))
        return part

    return decorate


def plain(value: Any) -> Any:
    """A setting's value as JSON has it."""
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    return value


_UNFIT: Any = object()
_SIMPLE = {int: "a whole number", float: "a number", bool: "true or false", str: "text", type(None): "none"}


def _parameters(make: Any) -> list[inspect.Parameter]:
    try:
        return [
            one
            for one in inspect.signature(make).parameters.values()
            if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
        ]
    except (TypeError, ValueError):
        return []


def _hints(make: Any) -> dict[str, Any]:
    """Annotations of a maker's parameters; none where they cannot be evaluated."""
    target = make.__init__ if isinstance(make, type) and not dataclasses.is_dataclass(make) else make
    try:
        return typing.get_type_hints(target, include_extras=True)
    except Exception:
        return {}


def _unwrapped(hint: Any) -> tuple[Any, Meaning]:
    """The type of an annotation, and its Meaning where it carries one."""
    if typing.get_origin(hint) is typing.Annotated:
        kind, *extras = typing.get_args(hint)
        return kind, next((one for one in extras if isinstance(one, Meaning)), Meaning())
    return hint, Meaning()


def _members(kind: Any) -> tuple[Any, ...]:
    """The types of a union; a type by itself is one of one."""
    return typing.get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)


def _fit(kind: Any, value: Any) -> Any:
    """The value as one of the types has it; `_UNFIT` where none does. A type that is not understood takes anything."""
    for member in _members(kind):
        fitted = _fit_one(member, value)
        if fitted is not _UNFIT:
            return fitted
    return _UNFIT


def _fit_one(kind: Any, value: Any) -> Any:
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        return value if value in typing.get_args(kind) and not isinstance(value, bool) else _UNFIT
    if kind is bool:
        return value if isinstance(value, bool) else _UNFIT
    if kind is int:
        return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else _UNFIT
    if kind is float:
        return float(value) if is_number(value) else _UNFIT
    if kind is str:
        return value if isinstance(value, str) else _UNFIT
    if kind is type(None):
        return None if value is None else _UNFIT
    if origin in (tuple, list):
        if not isinstance(value, list | tuple):
            return _UNFIT
        inner = typing.get_args(kind)[0]
        fitted = [_fit(inner, one) for one in value]
        return _UNFIT if any(one is _UNFIT for one in fitted) else origin(fitted)
    return value


def _parse(kind: Any, text: str) -> Any:
    """What was typed, by type; lists are separated by commas. None comes first, for any text is text."""
    for member in sorted(_members(kind), key=lambda member: member is not type(None)):
        value = _parse_one(member, text.strip())
        if value is not _UNFIT:
            return value
    return _UNFIT


def _parse_one(kind: Any, text: str) -> Any:
    origin = typing.get_origin(kind)
    if kind is type(None):
        return None if text.lower() in ("none", "") else _UNFIT
    if kind is bool:
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(text.lower(), _UNFIT)
    if kind in (int, float):
        return _number(kind, text)
    if origin is typing.Literal:
        return next((one for one in typing.get_args(kind) if str(one) == text), _UNFIT)
    if origin in (tuple, list):
        parts = [_parse(typing.get_args(kind)[0], part) for part in text.split(",") if part.strip()]
        return _UNFIT if any(part is _UNFIT for part in parts) else origin(parts)
    if kind is str:
        return text
    guesses = (_parse_one(guess, text) for guess in (int, float))
    known = {"true": True, "false": False, "none": None}
    return next((one for one in guesses if one is not _UNFIT), known.get(text.lower(), text))


def _number(kind: type, text: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        return _UNFIT


def _words(kind: Any) -> str:
    members = list(_members(kind))
    members.sort(key=lambda member: member is type(None))
    return " or ".join(_word(member) for member in members)


def _word(kind: Any) -> str:
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        return " or ".join(repr(one) for one in typing.get_args(kind))
    if origin in (tuple, list):
        return f"a list of {_word(typing.get_args(kind)[0]).removeprefix('a ')}s"
    return _SIMPLE.get(kind, "a value it takes" if kind in (None, Any) else getattr(kind, "__name__", str(kind)))
