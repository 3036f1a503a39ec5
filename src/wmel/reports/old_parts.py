"""Parts in records of schema 2.0, which hold planners and objectives as text, as `{name, **settings}`."""

import ast
from collections.abc import Mapping
from functools import cache
from typing import Any

from wmel import catalog

RENAMED = {"horizon": "plan_horizon"}  # settings that have another name since


def part_data(part: Mapping[str, Any] | str) -> Mapping[str, Any]:
    """A part of a record as data; a text that is no call of a class is a name."""
    return _parsed(part) if isinstance(part, str) else part


@cache
def _parsed(text: str) -> Mapping[str, Any]:
    try:
        call = ast.parse(text, mode="eval").body
    except SyntaxError:
        return {"name": text}
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return {"name": text}
    given = {one.arg: one.value.value for one in call.keywords if isinstance(one.value, ast.Constant)}
    name = given.pop("name", None) or _catalogue_name(call.func.id)
    settings = {RENAMED.get(str(key), str(key)): value for key, value in given.items() if value not in (None, False)}
    return {"name": name, **settings}


def _catalogue_name(class_name: str) -> str:
    """The name of a class in the catalogue; the class itself where it is not there."""
    lines = [*catalog.PLANNERS.built_in.items(), *catalog.OBJECTIVES.built_in.items()]
    return next((name for name, line in lines if line.target.endswith(f":{class_name}")), class_name)
