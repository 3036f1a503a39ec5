"""Values of settings by type: conversion, parsing of text, and a description of each type for messages."""

import math
import re
import types
import typing
from collections.abc import Iterator, Mapping
from numbers import Integral
from typing import Any

from wmel.errors import BadInput, is_number

INVALID: Any = object()  # the result for a value that is not of the type
NONE = "none"
NAME = "name"
MAX_DEPTH = 30  # of lists and tables within each other
UNSTORABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
ONE_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_SIMPLE = {int: "a whole number", float: "a number", bool: "true or false", str: "text", type(None): "none"}


def _members(kind: Any) -> tuple[Any, ...]:
    """The types of a union. Any other type is its own only member."""
    return typing.get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)


def convert_value(kind: Any, value: Any) -> Any:
    """The value converted to a type or to a member of a union; `INVALID` if that is impossible.

    A type that this module does not know accepts any value. NaN is invalid for every type. TOML has no null: the text
    "none" means None if the type allows None and not text.
    """
    value = _to_python_number(value)
    if has_nan(value):
        return INVALID
    for member in _members(kind):
        converted = _convert_one(member, value)
        if converted is not INVALID:
            return converted
    is_none = isinstance(value, str) and value.strip().lower() == NONE and type(None) in _members(kind)
    return None if is_none else INVALID


def _to_python_number(value: Any) -> Any:
    """A NumPy number as a Python number. Other values are unchanged."""
    if type(value) in (bool, int, float) or not is_number(value):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def has_nan(value: Any) -> bool:
    """Whether a value is NaN, or a list or table that contains NaN."""
    if isinstance(value, list | tuple):
        return any(map(has_nan, value))
    if isinstance(value, Mapping):
        return any(map(has_nan, value.values()))
    return isinstance(value, float) and math.isnan(value)


def is_json(value: Any) -> bool:
    """Whether JSON can represent a value."""
    if isinstance(value, list | tuple):
        return all(map(is_json, value))
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and is_json(one) for key, one in value.items())
    return value is None or isinstance(value, bool | int | float | str)


def check_storable(data: Any) -> None:
    """Raises BadInput for data that no file should hold.

    It is nested more than MAX_DEPTH deep, a text has a NUL, another control character or half a surrogate pair, or a
    name has more than one line.
    """
    level: list[tuple[str, Any]] = [("", data)]
    for _ in range(MAX_DEPTH):
        for key, value in level:
            unfit = ONE_LINE if key == NAME else UNSTORABLE
            if isinstance(value, str) and (found := unfit.search(value)):
                raise BadInput(f"{key or 'a text'} has the character {found[0]!a}: leave it out")
        level = [child for key, value in level for child in _children(key, value)]
        if not level:
            return
    raise BadInput(f"{level[0][0] or 'a value'} is nested more than {MAX_DEPTH} deep")


def _children(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """What a list or table holds, and its keys."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield "a key", name
            yield str(name), one
    elif isinstance(value, list | tuple):
        yield from ((key, one) for one in value)


def _convert_one(kind: Any, value: Any) -> Any:
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        return value if value in typing.get_args(kind) and not isinstance(value, bool) else INVALID
    if kind is bool:
        return value if isinstance(value, bool) else INVALID
    if kind is int:
        return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else INVALID
    if kind is float:
        return float(value) if is_number(value) else INVALID
    if kind is str:
        return value if isinstance(value, str) else INVALID
    if kind is type(None):
        return None if value is None else INVALID
    if origin in (tuple, list):
        if not isinstance(value, list | tuple):
            return INVALID
        inner = typing.get_args(kind)[0]
        items = [convert_value(inner, item) for item in value]
        return INVALID if any(item is INVALID for item in items) else origin(items)
    return value


def parse_value(kind: Any, text: str) -> Any:
    """A value of a type from text; `INVALID` if that is impossible. Commas separate the items of a list.

    None is tried first, because any text is valid as text.
    """
    for member in sorted(_members(kind), key=lambda member: member is not type(None)):
        value = _parse_one(member, text.strip())
        if value is not INVALID:
            return value
    return INVALID


def _parse_one(kind: Any, text: str) -> Any:
    origin = typing.get_origin(kind)
    if kind is type(None):
        return None if text.lower() == NONE else INVALID
    if kind is bool:
        return _BOOLEANS.get(text.lower(), INVALID)
    if kind in (int, float):
        return _parse_number(kind, text)
    if origin is typing.Literal:
        return next((one for one in typing.get_args(kind) if str(one) == text), INVALID)
    if origin in (tuple, list):
        parts = [parse_value(typing.get_args(kind)[0], part) for part in text.split(",") if part.strip()]
        return INVALID if any(part is INVALID for part in parts) else origin(parts)
    if kind is str:
        return text
    guesses = (_parse_one(guess, text) for guess in (int, float))
    known = {"true": True, "false": False, NONE: None}
    return next((one for one in guesses if one is not INVALID), known.get(text.lower(), text))


def _parse_number(kind: type, text: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        return INVALID


def describe_type(kind: Any) -> str:
    """The values of a type, in words: `a whole number or none`."""
    members = list(_members(kind))
    members.sort(key=lambda member: member is type(None))
    return " or ".join(_describe_one(member) for member in members)


def _describe_one(kind: Any) -> str:
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        return " or ".join(repr(one) for one in typing.get_args(kind))
    if origin in (tuple, list):
        return f"a list of {_describe_one(typing.get_args(kind)[0]).removeprefix('a ')}s"
    return _SIMPLE.get(kind, "a valid value" if kind in (None, Any) else getattr(kind, "__name__", str(kind)))
