"""Settings of parts: they are read from a part's constructor, and checked and parsed here.

The constructor is the only declaration of a setting: a field of a dataclass created by `setting`, or a parameter of a
function or class. An annotation with a `Meaning` adds a description and limits.
"""

import dataclasses
import difflib
import functools
import inspect
import math
import typing
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from wmel.errors import MAX_WHOLE, BadInput, is_number, shorten, suggest_name
from wmel.values import INVALID, convert_value, describe_type, parse_value

PartClass = TypeVar("PartClass", bound=type)
MEANING = "meaning"  # the key of a dataclass field's metadata
SWEEP = "sweep"  # the key of a table that lists several values of a setting
CONTEXT = ("environment", "model", "name")  # parameters of constructors that are not settings
MAX_THREADS = 1024  # threads or processes
LARGEST_SEED = 2**63 - 1  # 64 bits; a seed is no count
MAX_COUNT = 1_000_000  # of what is held in memory at once: candidates, states, steps of a plan or of an episode


@dataclass(frozen=True)
class Meaning:
    """The description of a setting and the limits of its values."""

    text: str = ""
    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None
    cap: float = MAX_WHOLE  # of whole numbers; named only where it is exceeded

    def allows(self, value: Any) -> bool:
        """Whether a number, or every number of a list, lies within the limits. Other values have no limits."""
        if isinstance(value, list | tuple):
            return all(self.allows(item) for item in value)
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
        """The limits in words, or an empty text."""
        words = {"of at least": self.at_least, "above": self.above, "at most": self.at_most, "below": self.below}
        limits = [f"{word} {limit}" for word, limit in words.items() if limit is not None and limit != math.inf]
        return " and ".join([*limits, *(["finite"] if self.below == math.inf else [])])


def setting(default: Any, text: str, **limits: float) -> Any:
    """A field of a part's dataclass with a default, a description and limits."""
    return dataclasses.field(default=default, metadata={MEANING: Meaning(text, **limits)})


@dataclass(frozen=True)
class Setting:
    """One setting of a part."""

    name: str
    kind: Any  # the annotated type or that of the default; None if it is unknown
    default: Any  # `inspect.Parameter.empty` if the setting is required
    meaning: Meaning

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty

    def check(self, value: Any) -> Any:
        """The value converted to the type of the setting. Raises BadInput for an invalid one."""
        converted = convert_value(self.kind, value)
        if converted is INVALID or not self.meaning.allows(converted):
            raise BadInput(f"{self.name} must be {self.expected}, got {shorten(value)}{suggest_sweep(value)}")
        if any(abs(one) > self.meaning.cap for one in _whole_numbers(converted)):
            raise BadInput(f"{self.name} must be at most {self.meaning.cap:,}, got {shorten(value)}")
        return converted

    def parse(self, text: str) -> Any:
        """The value from text, as on the command line. Raises BadInput for an invalid one."""
        value = parse_value(self.kind, text) if text.strip() else INVALID
        if value is INVALID:
            raise BadInput(f"{self.name} must be {self.expected}, got {shorten(text)}")
        return self.check(value)

    @property
    def expected(self) -> str:
        """The valid values, in words."""
        limits, words = self.meaning.limits, describe_type(self.kind)
        if not limits:
            return words
        if words.endswith(" or none"):
            return f"{words.removesuffix(' or none')} {limits}, or none"
        return f"{words} {limits}"


def _whole_numbers(value: Any) -> list[int]:
    """A whole number, or those of a list."""
    return [one for one in (value if isinstance(value, list | tuple) else [value]) if isinstance(one, int)]


def settings_of(factory: Any) -> Mapping[str, Setting]:
    """The settings of the class or function that builds a part, by name.

    They are all parameters of a class; of a function, those that are keyword-only or have a default. The parameters in
    `CONTEXT` are not settings.
    """
    try:
        hash(factory)
    except TypeError:
        return _read_settings.__wrapped__(factory)
    return _read_settings(factory)


@functools.cache
def _read_settings(factory: Any) -> Mapping[str, Setting]:
    inner = factory.func if isinstance(factory, functools.partial) else factory
    is_class = isinstance(inner, type)
    fields = dataclasses.fields(inner) if is_class and dataclasses.is_dataclass(inner) else ()
    meanings = {one.name: one.metadata[MEANING] for one in fields if MEANING in one.metadata}
    hints, found = _hints(inner), {}
    for one in _named_parameters(factory):
        is_setting = is_class or one.default is not one.empty or one.kind is one.KEYWORD_ONLY
        if is_setting and one.name not in CONTEXT:
            kind, annotated = _split_annotation(hints.get(one.name, _type_of_default(one.default)))
            found[one.name] = Setting(one.name, kind, one.default, meanings.get(one.name, annotated))
    return MappingProxyType(found)


def builds_part(factory: Any) -> bool:
    """Whether an object builds a part from settings alone: a class, or a function without other parameters."""
    if isinstance(factory, type):
        return True
    required = (
        one for one in _named_parameters(factory) if one.default is one.empty and one.kind is not one.KEYWORD_ONLY
    )
    return not any(required) and not any(one.kind is one.VAR_POSITIONAL for one in _all_parameters(factory))


def has_parameter(factory: Any, name: str) -> bool:
    """Whether a class or function has a parameter of this name."""
    return any(one.name == name for one in _named_parameters(factory))


def check_settings(part: Any) -> None:
    """Checks and converts the settings of a dataclass. Call it in `__post_init__`."""
    for one in settings_of(type(part)).values():
        try:
            value = one.check(getattr(part, one.name))
        except BadInput as error:
            raise BadInput(f"{type(part).__name__}: {error}") from None
        object.__setattr__(part, one.name, value)


def accept_old_names(**names: str) -> Callable[[PartClass], PartClass]:
    """A class decorator that accepts old names of settings for one release, as keywords and as attributes."""

    def decorate(part: PartClass) -> PartClass:
        construct = part.__init__

        @functools.wraps(construct)
        def translate(self: Any, *values: Any, **settings: Any) -> None:
            for old, new in names.items():
                if old in settings and new in settings:
                    both = f"{settings[old]!r} and {settings[new]!r}"
                    raise BadInput(f"{part.__name__}: '{old}' and '{new}' are the same setting, got {both}")
                if old in settings:
                    warnings.warn(f"{part.__name__}: '{old}' is now '{new}'", DeprecationWarning, stacklevel=2)
                    settings[new] = settings.pop(old)
            construct(self, *values, **settings)

        part.__init__ = translate
        for old, new in names.items():
            setattr(part, old, property(lambda self, new=new: getattr(self, new)))
        return part

    return decorate


def refuse_unknown_settings(part: PartClass) -> PartClass:
    """A class decorator that raises BadInput for an unknown argument and names the closest setting."""
    construct = part.__init__
    signature = inspect.signature(construct)
    known = [name for name in signature.parameters if name != "self"]

    @functools.wraps(construct)
    def check_names(self: Any, *values: Any, **settings: Any) -> None:
        for name in settings:
            if name not in known:
                raise BadInput(f"{part.__name__} has no setting '{name}';{suggest_name(name, known, 'it takes')}")
        try:
            signature.bind(self, *values, **settings)
        except TypeError as error:
            raise BadInput(f"{part.__name__}: {error}; it takes {', '.join(known)}") from None
        construct(self, *values, **settings)

    part.__init__ = check_names
    return part


def suggest_sweep(value: object) -> str:
    """The end of a message about a refused value: the nearest key, if it is a misspelled `{sweep = [2, 3]}`."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return ""
    (key,) = value
    is_close = key != SWEEP and difflib.get_close_matches(str(key).lower(), [SWEEP])
    return f"; did you mean '{SWEEP}'?" if is_close else ""


def to_json_value(value: Any) -> Any:
    """The value of a setting as JSON represents it: tuples become lists."""
    if isinstance(value, list | tuple):
        return [to_json_value(one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): to_json_value(one) for key, one in value.items()}
    return value


def _named_parameters(factory: Any) -> list[inspect.Parameter]:
    """The parameters that can be passed by name."""
    return [one for one in _all_parameters(factory) if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]


def _all_parameters(factory: Any) -> list[inspect.Parameter]:
    if not callable(factory):
        return []
    try:
        return list(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError):
        return []


def _type_of_default(default: Any) -> type | None:
    """The type of a parameter without annotation, from its default. None if the default does not determine it."""
    return type(default) if type(default) in (bool, int, float, str) else None


def _hints(factory: Any) -> dict[str, Any]:
    """Annotations of the parameters of a class or function; empty if they cannot be evaluated."""
    target = factory.__init__ if isinstance(factory, type) and not dataclasses.is_dataclass(factory) else factory
    try:
        return typing.get_type_hints(target, include_extras=True)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return {}


def _split_annotation(hint: Any) -> tuple[Any, Meaning]:
    """The type of an annotation and its Meaning, which is empty if there is none."""
    if typing.get_origin(hint) is typing.Annotated:
        kind, *extras = typing.get_args(hint)
        return kind, next((one for one in extras if isinstance(one, Meaning)), Meaning())
    return hint, Meaning()
