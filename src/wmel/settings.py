"""Settings: read from a part's constructor, checked, parsed and explained here and nowhere else.

A part's constructor is the only place its settings are stated: fields of a dataclass made by `setting`, or parameters
of a function or class, annotated with a `Meaning` where there is more to say than their type.
"""

import dataclasses
import functools
import inspect
import math
import typing
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from wmel.errors import BadInput, is_number, nearest
from wmel.values import UNFIT, fit, parse, type_words

PartClass = TypeVar("PartClass", bound=type)
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
    kind: Any  # its type, as annotated or as its default has it; None where neither says
    default: Any  # `inspect.Parameter.empty` where it must be given
    meaning: Meaning

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty

    def checked(self, value: Any) -> Any:
        """The value as the part takes it, or BadInput."""
        fitted = fit(self.kind, value)
        if fitted is UNFIT or not self.meaning.holds(fitted):
            raise BadInput(f"{self.name} must be {self.expected}, got {value!r}")
        return fitted

    def parsed(self, text: str) -> Any:
        """The value that was typed."""
        value = parse(self.kind, text) if text.strip() else UNFIT
        if value is UNFIT:
            raise BadInput(f"{self.name} must be {self.expected}, got {text!r}")
        return self.checked(value)

    @property
    def expected(self) -> str:
        """The values it takes, in words."""
        limits, words = self.meaning.limits, type_words(self.kind)
        if not limits:
            return words
        if words.endswith(" or none"):
            return f"{words.removesuffix(' or none')} {limits}, or none"
        return f"{words} {limits}"


def settings_of(make: Any) -> Mapping[str, Setting]:
    """The settings of a maker by name: the parameters of a class; of a function, those with a default or keyword-only.

    What a part is built for (`CONTEXT`) is no setting, and neither is its name.
    """
    try:
        hash(make)
    except TypeError:
        return _read_settings.__wrapped__(make)
    return _read_settings(make)


@functools.cache
def _read_settings(make: Any) -> Mapping[str, Setting]:
    inner = make.func if isinstance(make, functools.partial) else make
    is_class = isinstance(inner, type)
    fields = dataclasses.fields(inner) if is_class and dataclasses.is_dataclass(inner) else ()
    meanings = {one.name: one.metadata[MEANING] for one in fields if MEANING in one.metadata}
    hints, found = _hints(inner), {}
    for one in _parameters(make):
        is_setting = is_class or one.default is not one.empty or one.kind is one.KEYWORD_ONLY
        if is_setting and one.name not in CONTEXT:
            kind, annotated = _unwrapped(hints.get(one.name, _type_of_default(one.default)))
            found[one.name] = Setting(one.name, kind, one.default, meanings.get(one.name, annotated))
    return MappingProxyType(found)


def makes_part(make: Any) -> bool:
    """Whether calling it with settings makes a part: a class, or a function that takes nothing else."""
    if isinstance(make, type):
        return True
    needed = (one for one in _parameters(make) if one.default is one.empty and one.kind is not one.KEYWORD_ONLY)
    return not any(needed) and not any(one.kind is one.VAR_POSITIONAL for one in _all_parameters(make))


def takes(make: Any, name: str) -> bool:
    """Whether a maker has a parameter of this name."""
    return any(one.name == name for one in _parameters(make))


def check_settings(part: Any) -> None:
    """Check a dataclass made of settings, in its `__post_init__`; values are stored as the part takes them."""
    for one in settings_of(type(part)).values():
        try:
            value = one.checked(getattr(part, one.name))
        except BadInput as error:
            raise BadInput(f"{type(part).__name__}: {error}") from None
        object.__setattr__(part, one.name, value)


def accept_old_names(**names: str) -> Any:
    """A class decorator: for one release the old names of settings work, as keywords and as attributes."""

    def decorate(part: type) -> type:
        construct = part.__init__

        @functools.wraps(construct)
        def translate(self: Any, *values: Any, **settings: Any) -> None:
            for old, new in names.items():
                if old in settings and new in settings:
                    values_given = f"{settings[old]!r} and {settings[new]!r}"
                    raise BadInput(f"{part.__name__}: '{old}' and '{new}' are the same setting, given {values_given}")
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
    """A class decorator: arguments that the constructor does not take are bad input, named with the nearest setting."""
    construct = part.__init__
    signature = inspect.signature(construct)
    known = [name for name in signature.parameters if name != "self"]

    @functools.wraps(construct)
    def check_names(self: Any, *values: Any, **settings: Any) -> None:
        for name in settings:
            if name not in known:
                raise BadInput(f"{part.__name__} has no setting '{name}';{nearest(name, known, 'it takes')}")
        try:
            signature.bind(self, *values, **settings)
        except TypeError as error:
            raise BadInput(f"{part.__name__}: {error}; it takes {', '.join(known)}") from None
        construct(self, *values, **settings)

    part.__init__ = check_names
    return part


def plain(value: Any) -> Any:
    """A setting's value as JSON has it."""
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    return value


def _parameters(make: Any) -> list[inspect.Parameter]:
    """The parameters that can be given by name."""
    return [one for one in _all_parameters(make) if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]


def _all_parameters(make: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(make).parameters.values())
    except (TypeError, ValueError):
        return []


def _type_of_default(default: Any) -> type | None:
    """The type of a parameter without annotation, where its default tells it."""
    return type(default) if type(default) in (bool, int, float, str) else None


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
