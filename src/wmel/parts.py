"""Parts by name: a name and settings in, a part out; what is wrong is named with the nearest right name."""

import dataclasses
import functools
import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeGuard, TypeVar

from wmel.errors import BadInput, MissingExtra, UnknownPart, WmelError, described, nearest, place_of
from wmel.kinds import place_of_definition, refuse_made_part, refuse_other_class
from wmel.machine import extra_with
from wmel.settings import (
    Meaning,
    Setting,
    accept_old_names,
    check_settings,
    plain,
    refuse_unknown_settings,
    setting,
    settings_of,
    takes,
)
from wmel.values import is_json

Ability = TypeVar("Ability")


def able(part: object, ability: type[Ability]) -> TypeGuard[Ability]:
    """Whether the part implements the methods of a runtime-checkable Protocol."""
    return _implements(type(part), ability)


@functools.cache  # asking a Protocol costs more than a small plan call
def _implements(kind: type, ability: type) -> bool:
    return issubclass(kind, ability)


__all__ = [
    "Meaning",
    "Part",
    "PartSpec",
    "Registry",
    "Setting",
    "accept_old_names",
    "check_settings",
    "import_object",
    "name_and_settings",
    "nearest",
    "plain",
    "refuse_unknown_settings",
    "setting",
    "settings_of",
    "takes",
    "with_article",
]


@dataclass(frozen=True, eq=False)
class PartSpec:
    """A part as data: which one, and the settings that were given."""

    kind: str
    name: str
    settings: Mapping[str, Any]
    make: Any
    origin: str = "wmel"

    @property
    def resolved(self) -> dict[str, Any]:
        """Its name and all settings, those left out at their defaults."""
        known = {one.name: one.default for one in settings_of(self.make).values()} if callable(self.make) else {}
        return {"name": self.name, **{name: plain(value) for name, value in {**known, **self.settings}.items()}}

    @property
    def key_data(self) -> dict[str, Any]:
        """Its name and the settings that differ from their defaults: what decides which part it is."""
        known = settings_of(self.make) if callable(self.make) else {}
        return {
            name: value for name, value in self.data.items() if name not in known or value != plain(known[name].default)
        }

    @property
    def data(self) -> dict[str, Any]:
        """Its name and the settings that were given; those that cannot be stored are refused."""
        for name, value in self.settings.items():
            if not is_json(value):
                kind = type(value).__name__
                raise BadInput(
                    f"{self.kind} '{self.name}': {name} must be what JSON can hold, got {value!r:.60} ({kind})"
                )
        return {"name": self.name, **{name: plain(value) for name, value in self.settings.items()}}

    def build(self, *context: Any, **more: Any) -> Any:
        """The part; an object that is no maker is itself.

        Of a plugin, settings that it refuses are bad input, and so is what is no part of its kind.
        """
        try:
            made = self.make(*context, **self.settings, **more) if callable(self.make) else self.make
        except WmelError as error:
            if context or not isinstance(error, BadInput):  # it may be what the part is built for
                raise
            raise type(error)(f"{self.kind} '{self.name}': {error}") from error
        except (Exception, SystemExit) as error:
            if self.origin == "wmel":
                raise
            refuse_other_class(self.kind, self.name, self.make)
            place = place_of(error) or place_of_definition(self.make)
            raise BadInput(
                f"{self.kind} '{self.name}' cannot be built with {self._words}: {described(error)}{place}"
            ) from error
        if self.origin != "wmel":
            refuse_made_part(self.kind, self.name, made, self.make)
        return made

    @property
    def _words(self) -> str:
        return ", ".join(f"{name} = {value!r}" for name, value in self.settings.items()) or "its defaults"


@dataclass(frozen=True)
class Part:
    """One catalogue line: `target` is `package.module:object`, `origin` the package it came with."""

    target: str
    summary: str
    origin: str = "wmel"
    subjects: tuple[str, ...] = ()  # what a maker of several parts is given first

    def load(self) -> Any:
        """The object, imported now."""
        found = import_object(self.target)
        return functools.partial(found, *self.subjects) if self.subjects else found


class Registry:
    """The parts of one kind: the built-in ones, and those that installed packages offer by entry point."""

    def __init__(self, kind: str, parts: dict[str, Part], group: str | None = None):
        self.kind, self.group = kind, group
        self.built_in: Mapping[str, Part] = MappingProxyType(parts)

    @property
    def parts(self) -> Mapping[str, Part]:
        """Every part by name; a plugin cannot replace a built-in."""
        return {**_plugins(self.group), **self.built_in} if self.group else self.built_in

    @property
    def refused(self) -> list[Part]:
        """Plugin parts whose name is taken, by a built-in or by another plugin."""
        if not self.group:
            return []
        taken = {name for name in _plugins(self.group) if name in self.built_in}
        return [part for name, part in _offers(self.group) if name in taken or part != _plugins(self.group)[name]]

    @property
    def _families(self) -> tuple[str, ...]:
        """Beginnings of names that, with their colon, are no modules: `dmc:`."""
        return tuple({name.partition(":")[0] + ":" for name in self.built_in if ":" in name})

    def has(self, name: str) -> bool:
        """Whether a name is one of the catalogue's."""
        return name in self.built_in or name in self.parts

    def load(self, name: str) -> Any:
        """The object a name stands for; `package.module:object` stands for itself."""
        if not isinstance(name, str):
            raise BadInput(f"{with_article(self.kind)} is chosen by its name, got {name!r}")
        if name in self.built_in:
            return self.built_in[name].load()
        if ":" in name and not name.startswith(self._families):
            return import_object(name)
        if name not in self.parts:
            raise UnknownPart(f"no {self.kind} named '{name}';{nearest(name, self.parts)}")
        return self.parts[name].load()

    def settings_of(self, name: str) -> Mapping[str, Setting]:
        """The settings a part takes, by name."""
        make = self.load(name)
        return settings_of(make) if callable(make) else {}

    def spec(self, name: str, settings: Mapping[str, Any] | None = None) -> PartSpec:
        """The part as data; settings it does not have, values it does not take and missing ones are refused."""
        make, given = self.load(name), dict(settings or {})
        known = settings_of(make) if callable(make) else {}
        for one in given:
            if one not in known:
                raise BadInput(f"{self.kind} '{name}' has no setting '{one}';{nearest(one, known, 'it takes')}")
        try:
            checked = {one: known[one].checked(value) for one, value in given.items()}
        except BadInput as error:
            raise BadInput(f"{self.kind} '{name}': {error}") from error
        missing = [one.name for one in known.values() if one.is_required and one.name not in given]
        if missing:
            raise BadInput(f"{self.kind} '{name}' needs the setting '{missing[0]}', which has no default: give it")
        origin = self.parts[name].origin if name in self.parts else "yours"
        return PartSpec(self.kind, name, checked, make, origin)

    def parse(self, name: str, texts: Mapping[str, str]) -> dict[str, Any]:
        """Settings as they were typed, turned into values; an unknown one stays text, for `spec` to refuse."""
        known = self.settings_of(name)
        try:
            return {one: known[one].parsed(text) if one in known else text for one, text in texts.items()}
        except BadInput as error:
            raise BadInput(f"{self.kind} '{name}': {error}") from error

    def build(self, name: str, *context: Any, **settings: Any) -> Any:
        """The part made with these settings."""
        return self.spec(name, settings).build(*context)

    def name_of(self, part: Any) -> str | None:
        """The catalogue's name of a part's class or maker, where it is one of the catalogue's."""
        kind = part if isinstance(part, type) or inspect.isfunction(part) else type(part)
        target = f"{kind.__module__}:{kind.__qualname__}"
        return next((name for name, line in self.parts.items() if line.target == target), None)

    def data_of(self, part: Any) -> dict[str, Any] | None:
        """A live part as {name, **settings that differ from defaults}, where its class makes the same again.

        That is known of dataclasses alone; of another class the attributes need not be what it was made with.
        """
        kind, name = type(part), self.name_of(type(part))
        if name is None or not (dataclasses.is_dataclass(kind) and kind.__dataclass_params__.init):
            return None
        spec = self.spec(name, {one: getattr(part, one) for one in settings_of(kind)})
        return spec.key_data if is_json(spec.settings) else None

    def describe(self, part: Any) -> dict[str, Any]:
        """A part that exists already as `{name, **settings}`: a dataclass by its fields, another by its attributes."""
        name = self.name_of(part) or type(part).__name__
        known = settings_of(type(part))
        return {"name": name, **{one: plain(getattr(part, one)) for one in known if hasattr(part, one)}}


def import_object(target: str) -> Any:
    """The object `package.module:object` names; whatever goes wrong in foreign code is one sentence."""
    module, _, attribute = target.partition(":")
    try:
        home = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name and (extra := extra_with(error.name)):
            raise MissingExtra(f"'{target}' needs {error.name}: pip install 'wmel[{extra}]'") from error
        raise BadInput(f"cannot import '{target}': {described(error)}{place_of(error)}") from error
    try:
        return functools.reduce(getattr, attribute.split("."), home)
    except AttributeError:
        raise BadInput(f"cannot import '{target}': module '{module}' has no '{attribute}'") from None


def with_article(word: str) -> str:
    """A noun with its indefinite article."""
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


@functools.cache
def _offers(group: str) -> list[tuple[str, Part]]:
    """Every entry point of a group, in the order of the packages' names."""
    from importlib.metadata import entry_points

    points = [
        (point.name, Part(point.value, "", point.dist.name if point.dist else ""))
        for point in entry_points(group=group)
    ]
    return sorted(points, key=lambda point: (point[0], point[1].origin))


@functools.cache
def _plugins(group: str) -> dict[str, Part]:
    """The first offer of each name."""
    return dict(reversed(_offers(group)))


def name_and_settings(given: Any, kind: str) -> tuple[str, dict[str, Any]]:
    """A part given by its name or as {name, **settings}."""
    if isinstance(given, str):
        return given, {}
    if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
        raise BadInput(f"{with_article(kind)} is a name, or a table with a name and settings; got {given!r}")
    return given["name"], {key: value for key, value in given.items() if key != "name"}
