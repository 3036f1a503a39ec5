"""What is wrong with the keys of a study, in words: each kind of mistake once, with its place and the way out."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wmel.errors import suggest_name, with_article
from wmel.experiments.keys import Keys, PartKeys, StudyKeys
from wmel.experiments.model_keys import ModelKeys

WORDS = {  # kind of mistake -> what a value must be
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "literal_error": "{expected}",
    "greater_than": "above {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "below {lt}",
    "less_than_equal": "at most {le}",
    "string_too_short": "at least {min_length} character long",
    "too_short": "a list of at least {min_length} value",
}
NAME_OR_TABLE = "str"  # the end of the place of what is neither a name nor a table


def place_words(path: Path | None, place: str) -> str:
    """Where something is wrong, at the beginning of a message; nothing for a study that is no file."""
    return "" if path is None else f"{path}: {place}: "


def shown(value: Any) -> str:
    """A value that is refused, cut where it is long."""
    return f"{value!r:.80}"


def refusal(kind: type[Keys], error: Mapping[str, Any], path: Path | None, place: str, lists: Sequence[str]) -> str:
    """The message for one mistake that pydantic found; `lists` are the keys of a study that are lists of tables."""
    keys = [str(key) for key in error["loc"]]
    table = with_article(kind.registry.kind) if issubclass(kind, PartKeys) else "a criterion" if place else "the study"
    file = "" if path is None else f"{path}: "
    at = file + (f"{place}: " if path is not None and place else "")
    if error["type"] == "extra_forbidden":
        known = [*kind.model_fields, *(lists if kind is StudyKeys else ())]
        return f"{at}{table} has no key '{keys[-1]}';{suggest_name(keys[-1], known)}"
    if error["type"] == "missing":
        names = (
            f";{suggest_name('', kind.registry.parts)}" if issubclass(kind, PartKeys) and kind is not ModelKeys else ""
        )
        return f"{at}{table} needs a {keys[-1]}{names}"
    if error["type"] == "value_error":
        place = ".".join([*([place] if path is not None and place else []), *keys])
        return f"{file}{place}{': ' if place else ''}{error['msg'].removeprefix('Value error, ')}"
    if keys[-1] == NAME_OR_TABLE:
        keys, words = keys[:-1], "a name or a table with a name"
    else:
        words = WORDS.get(error["type"], "").format(**error.get("ctx", {}))
    place = ".".join([*([place] if path is not None and place else []), *keys])
    said = f"must be {words}" if words else error["msg"][0].lower() + error["msg"][1:]
    return f"{file}{place}: {said}, got {shown(error['input'])}"
