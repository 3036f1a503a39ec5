"""Parts by name: `Registry` looks a part up and builds it from its settings. Errors name the closest valid name."""

import dataclasses
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeGuard, TypeVar

from wmel.errors import (
    BadInput,
    MissingExtra,
    UnknownPart,
    WmelError,
    describe_error,
    locate_code,
    locate_error,
    raise_interrupt,
    suggest_name,
    with_article,
)
from wmel.kinds import check_built_part, check_class, check_readable
from wmel.machine import extra_with
from wmel.settings import (
    Meaning,
    Setting,
    accept_old_names,
    check_settings,
    refuse_unknown_settings,
    setting,
    settings_of,
    to_json_value,
)
from wmel.values import is_json

__all__ = [
    "Meaning",
    "Part",
    "PartSpec",
    "Registry",
    "Setting",
    "accept_old_names",
    "check_settings",
    "implements",
    "import_object",
    "name_and_settings",
    "refuse_unknown_settings",
    "setting",
    "settings_of",
]
Ability = TypeVar("Ability")


def implements(part: object, ability: type[Ability]) -> TypeGuard[Ability]:
    """Whether the class of a part has the methods of a runtime-checkable Protocol."""
    return _implements(type(part), ability)


@functools.cache  # the check costs more than a small plan call
def _implements(kind: type, ability: type) -> bool:
    return issubclass(kind, ability)


@dataclass(frozen=True, eq=False)
class PartSpec:
    """A part as data: its name and the given settings. `factory` is the class or function that builds it."""

    kind: str
    name: str
    settings: Mapping[str, Any]
    factory: Any
    origin: str = "wmel"

    @property
    def resolved(self) -> dict[str, Any]:
        """The name and all settings, with the defaults of those that were not given."""
        known = {one.name: one.default for one in _known_settings(self.factory).values()}
        return {"name": self.name, **_as_json({**known, **self.settings})}

    @property
    def key_data(self) -> dict[str, Any]:
        """The name and the settings that differ from their defaults. They identify the part."""
        known = _known_settings(self.factory)
        return {
            name: value
            for name, value in self.data.items()
            if name not in known or value != to_json_value(known[name].default)
        }

    @property
    def data(self) -> dict[str, Any]:
        """The name and the given settings. Raises BadInput for a value that JSON cannot represent."""
        for name, value in self.settings.items():
            if not is_json(value):
                kind = type(value).__name__
                raise BadInput(f"{self.kind} '{self.name}': JSON cannot represent {name} = {value!r:.60} ({kind})")
        return {"name": self.name, **_as_json(self.settings)}

    def build(self, *context: Any, **more: Any) -> Any:
        """Builds the part. An object that is not callable is itself the part.

        If a plugin raises an error or returns another kind of part, the error is BadInput.
        """
        try:
            part = self.factory(*context, **self.settings, **more) if callable(self.factory) else self.factory
        except WmelError as error:
            if context or not isinstance(error, BadInput):  # the error may be about the context
                raise
            raise type(error)(f"{self.kind} '{self.name}': {error}") from error
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if self.origin == "wmel":
                raise
            check_class(self.kind, self.name, self.factory)
            place = locate_error(error) or locate_code(self.factory, is_library_shown=True)
            settings = ", ".join(f"{name} = {value!r}" for name, value in self.settings.items()) or "its defaults"
            raise BadInput(
                f"{self.kind} '{self.name}' cannot be built with {settings}: {describe_error(error)}{place}"
            ) from error
        if self.origin != "wmel":
            check_readable(self.name, part)
            check_built_part(self.kind, self.name, part, self.factory)
        return part


def _first_line_of_docstring(thing: Any) -> str:
    """Empty for a dataclass without a docstring, for which Python writes its signature."""
    text = (thing.__doc__ or "").strip()
    is_signature = is_dataclass(thing) and text.startswith(f"{getattr(thing, '__name__', '')}(")
    return "" if is_signature else text.split("\n")[0]


@dataclass(frozen=True)
class Part:
    """One line of the catalogue: `target` is `package.module:object`, `origin` is the package that provides it."""

    target: str
    summary: str
    origin: str = "wmel"
    subjects: tuple[str, ...] = ()  # first arguments, where one function builds several parts

    @property
    def description(self) -> str:
        """What it is: its line in the catalogue, or the first line of a plugin's docstring."""
        if self.summary:
            return self.summary
        try:
            return _first_line_of_docstring(self.load())
        except BadInput as error:
            return f"skipped: {error}"

    def load(self) -> Any:
        """Imports the object."""
        found = import_object(self.target)
        return functools.partial(found, *self.subjects) if self.subjects else found


class Registry:
    """The parts of one kind: built-in parts, and those that installed packages provide by entry point."""

    def __init__(
        self,
        kind: str,
        parts: dict[str, Part],
        group: str | None = None,
        taken: Callable[[], Container[str]] = tuple,
    ):
        self.kind, self.group = kind, group
        self.built_in: Mapping[str, Part] = MappingProxyType(parts)
        self._taken = taken  # returns names of another kind that a plugin cannot use

    @property
    def parts(self) -> Mapping[str, Part]:
        """Every part by name. A plugin cannot replace a built-in part, or use a name that is taken."""
        if not self.group:
            return self.built_in
        taken = self._taken()
        return {**{name: part for name, part in _plugins(self.group).items() if name not in taken}, **self.built_in}

    @property
    def refused(self) -> list[Part]:
        """Parts of plugins whose name belongs to a built-in part or to another plugin."""
        parts = self.parts
        return [part for name, part in _entry_points(self.group) if part != parts.get(name)] if self.group else []

    @property
    def _families(self) -> tuple[str, ...]:
        """Prefixes such as `dmc:` that are part of a name and not a module."""
        return tuple({name.partition(":")[0] + ":" for name in self.built_in if ":" in name})

    def has(self, name: str) -> bool:
        """Whether the catalogue has a part of this name."""
        return name in self.built_in or name in self.parts

    @property
    def list_command(self) -> str:
        """The command that lists the parts; empty where they are not in the catalogue."""
        return "" if self.group is None else f"wmel list {self.group.removeprefix('wmel.')}"

    def load(self, name: str) -> Any:
        """Imports the object that a name or `package.module:object` stands for."""
        if not isinstance(name, str):
            raise BadInput(f"{with_article(self.kind)} is selected by its name, got {name!r}")
        if name in self.built_in:
            return self.built_in[name].load()
        if ":" in name and not name.startswith(self._families):
            return import_object(name)
        if name not in self.parts:
            raise UnknownPart(
                f"no {self.kind} named '{name}';{suggest_name(name, self.parts, command=self.list_command)}"
            )
        return self.parts[name].load()

    def settings_of(self, name: str) -> Mapping[str, Setting]:
        """The settings of a part, by name."""
        return _known_settings(self.load(name))

    def spec(self, name: str, settings: Mapping[str, Any] | None = None) -> PartSpec:
        """The part as data. Raises BadInput for an unknown, invalid or missing setting."""
        factory, arguments = self.load(name), dict(settings or {})
        known = _known_settings(factory)
        self.refuse_unknown(name, arguments)
        try:
            checked = {one: known[one].check(value) for one, value in arguments.items()}
        except BadInput as error:
            raise BadInput(f"{self.kind} '{name}': {error}") from error
        missing = [one.name for one in known.values() if one.is_required and one.name not in arguments]
        if missing:
            raise BadInput(f"{self.kind} '{name}' requires the setting '{missing[0]}', which has no default")
        origin = self.parts[name].origin if name in self.parts else "yours"
        return PartSpec(self.kind, name, checked, factory, origin)

    def refuse_unknown(self, name: str, names: Iterable[str], beside: Iterable[str] = ()) -> None:
        """Raises BadInput for a name that is no setting of a part; `beside` are further names that its entry takes."""
        known = [*self.settings_of(name), *beside]
        for one in names:
            if one not in known:
                raise BadInput(f"{self.kind} '{name}' has no setting '{one}';{suggest_name(one, known, 'it takes')}")

    def parse(self, name: str, texts: Mapping[str, str]) -> dict[str, Any]:
        """Settings from text. The text of an unknown setting is returned unchanged, so that `spec` can name it."""
        known = self.settings_of(name)
        try:
            return {one: known[one].parse(text) if one in known else text for one, text in texts.items()}
        except BadInput as error:
            raise BadInput(f"{self.kind} '{name}': {error}") from error

    def build(self, name: str, *context: Any, **settings: Any) -> Any:
        """Builds the part with the given settings."""
        return self.spec(name, settings).build(*context)

    def name_of(self, part: Any) -> str | None:
        """The name of a part, or of its class or function, in the catalogue. None if it is not in the catalogue."""
        kind = part if isinstance(part, type) or inspect.isfunction(part) else type(part)
        target = f"{kind.__module__}:{kind.__qualname__}"
        return next((name for name, line in self.parts.items() if line.target == target), None)

    def data_of(self, part: Any) -> dict[str, Any] | None:
        """A part as {name, **settings that differ from defaults}, or None if these cannot rebuild it.

        Only a dataclass can be rebuilt: the attributes of other classes may differ from the arguments.
        """
        kind, name = type(part), self.name_of(type(part))
        if name is None or not (dataclasses.is_dataclass(kind) and kind.__dataclass_params__.init):
            return None
        spec = self.spec(name, {one: getattr(part, one) for one in settings_of(kind)})
        return spec.key_data if is_json(spec.settings) else None

    def describe(self, part: Any) -> dict[str, Any]:
        """A part as {name, **settings}, from its attributes."""
        name = self.name_of(part) or type(part).__name__
        known = settings_of(type(part))
        return {"name": name, **_as_json({one: getattr(part, one) for one in known if hasattr(part, one)})}


def import_object(target: str) -> Any:
    """Imports `package.module:object`. Raises BadInput, whatever error the module raises.

    A package that is not found elsewhere is looked for in the current folder, which becomes the last of the path.
    """
    module, _, attribute = target.partition(":")
    try:
        home = _import_module(module)
    except BaseException as error:
        raise_interrupt(error)
        if isinstance(error, ModuleNotFoundError) and error.name and (extra := extra_with(error.name)):
            raise MissingExtra(f"'{target}' needs {error.name}: pip install 'wmel[{extra}]'") from error
        raise BadInput(f"cannot import '{target}': {describe_error(error)}{locate_error(error)}") from error
    try:
        found = functools.reduce(getattr, attribute.split("."), home)
    except AttributeError:
        raise BadInput(f"cannot import '{target}': module '{module}' has no '{attribute}'") from None
    except (Exception, SystemExit) as error:
        raise BadInput(f"cannot import '{target}': {describe_error(error)}{locate_error(error)}") from error
    if module.partition(".")[0] != "wmel":
        check_readable(target, found)
    return found


def _import_module(name: str) -> Any:
    folder = str(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0] or folder in sys.path:
            raise
    sys.path.append(folder)
    return importlib.import_module(name)


def name_and_settings(part: Any, kind: str) -> tuple[str, dict[str, Any]]:
    """The name and settings of a part given by name or as {name, **settings}."""
    if isinstance(part, str):
        return part, {}
    if not isinstance(part, Mapping) or not isinstance(part.get("name"), str):
        raise BadInput(f"{with_article(kind)} is a name, or a table with a name and settings; got {part!r}")
    return part["name"], {key: value for key, value in part.items() if key != "name"}


@functools.cache
def _entry_points(group: str) -> list[tuple[str, Part]]:
    """Every entry point of a group, sorted by name and package."""
    from importlib.metadata import entry_points

    points = [
        (point.name, Part(point.value, "", point.dist.name if point.dist else ""))
        for point in entry_points(group=group)
    ]
    return sorted(points, key=lambda point: (point[0], point[1].origin))


@functools.cache
def _plugins(group: str) -> dict[str, Part]:
    """The first entry point of each name."""
    return dict(reversed(_entry_points(group)))


def _known_settings(factory: Any) -> Mapping[str, Setting]:
    """The settings of a class or function; none for an object that is not callable."""
    return settings_of(factory) if callable(factory) else {}


def _as_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: to_json_value(value) for name, value in settings.items()}
