"""Values of settings by their types: which fit, how text is parsed, and the words for what is expected."""

import math
import types
import typing
from collections.abc import Mapping
from numbers import Integral
from typing import Any

from wmel.errors import is_number

UNFIT: Any = object()  # what a value that no type takes comes to
NONE = "none"
_SIMPLE = {int: "a whole number", float: "a number", bool: "true or false", str: "text", type(None): "none"}


def _members(kind: Any) -> tuple[Any, ...]:
    """The types of a union; a type by itself is one of one."""
    return typing.get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)


def fit(kind: Any, value: Any) -> Any:
    """The value as one of the types has it; `UNFIT` where none does. A type that is not understood takes anything.

    TOML has no null: the text "none" is None where None is allowed and text is not. NaN is no value of any type.
    """
    value = _as_python(value)
    if has_nan(value):
        return UNFIT
    for member in _members(kind):
        fitted = _fit_one(member, value)
        if fitted is not UNFIT:
            return fitted
    is_none = isinstance(value, str) and value.strip().lower() == NONE and type(None) in _members(kind)
    return None if is_none else UNFIT


def _as_python(value: Any) -> Any:
    """A number of NumPy as the number it is; anything else as it is."""
    if type(value) in (bool, int, float) or not is_number(value):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def has_nan(value: Any) -> bool:
    """Whether a value is NaN, or a list or table with one in it."""
    if isinstance(value, list | tuple):
        return any(map(has_nan, value))
    if isinstance(value, Mapping):
        return any(map(has_nan, value.values()))
    return isinstance(value, float) and math.isnan(value)


def is_json(value: Any) -> bool:
    """Whether JSON can hold a value."""
    if isinstance(value, list | tuple):
        return all(map(is_json, value))
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and is_json(one) for key, one in value.items())
    return value is None or isinstance(value, bool | int | float | str)


def _fit_one(kind: Any, value: Any) -> Any:
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        return value if value in typing.get_args(kind) and not isinstance(value, bool) else UNFIT
    if kind is bool:
        return value if isinstance(value, bool) else UNFIT
    if kind is int:
        return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else UNFIT
    if kind is float:
        return float(value) if is_number(value) else UNFIT
    if kind is str:
        return value if isinstance(value, str) else UNFIT
    if kind is type(None):
        return None if value is None else UNFIT
    if origin in (tuple, list):
        if not isinstance(value, list | tuple):
            return UNFIT
        inner = typing.get_args(kind)[0]
        fitted = [fit(inner, one) for one in value]
        return UNFIT if any(one is UNFIT for one in fitted) else origin(fitted)
    return value


def parse(kind: Any, text: str) -> Any:
    """What was typed, by type; lists are separated by commas. None comes first, for any text is text."""
    for member in sorted(_members(kind), key=lambda member: member is not type(None)):
        value = _parse_one(member, text.strip())
        if value is not UNFIT:
            return value
    return UNFIT


def _parse_one(kind: Any, text: str) -> Any:
    origin = typing.get_origin(kind)
    if kind is type(None):
        return None if text.lower() == NONE else UNFIT
    if kind is bool:
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(text.lower(), UNFIT)
    if kind in (int, float):
        return _number(kind, text)
    if origin is typing.Literal:
        return next((one for one in typing.get_args(kind) if str(one) == text), UNFIT)
    if origin in (tuple, list):
        parts = [parse(typing.get_args(kind)[0], part) for part in text.split(",") if part.strip()]
        return UNFIT if any(part is UNFIT for part in parts) else origin(parts)
    if kind is str:
        return text
    guesses = (_parse_one(guess, text) for guess in (int, float))
    known = {"true": True, "false": False, NONE: None}
    return next((one for one in guesses if one is not UNFIT), known.get(text.lower(), text))


def _number(kind: type, text: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        return UNFIT


def type_words(kind: Any) -> str:
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
