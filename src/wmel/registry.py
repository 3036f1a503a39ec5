"""Parts by name: where each lives, said as a string so that listing them imports nothing."""

import difflib
import functools
import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from wmel.errors import BadInput, UnknownPart, described


@dataclass(frozen=True)
class Part:
    """One catalogue line: `target` is `package.module:object`, `origin` the package it came with."""

    target: str
    summary: str
    origin: str = "wmel"
    subjects: tuple[str, ...] = ()  # what a maker of several parts is told first

    def load(self) -> Any:
        """The object, imported now."""
        found = imported(self.target)
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

    def load(self, name: str) -> Any:
        """The object a name stands for; `package.module:object` stands for itself."""
        if name in self.built_in:
            return self.built_in[name].load()
        if ":" in name and not name.startswith(self._families):
            return imported(name)
        if name not in self.parts:
            raise UnknownPart(self._unknown(name))
        return self.parts[name].load()

    def settings_of(self, name: str) -> list[str]:
        """The names of the settings a part takes."""
        return _settings_of(self.load(name))

    def build(self, name: str, *subjects: Any, **settings: Any) -> Any:
        """The part made with these settings; one it does not have is named. An object that is no maker is itself."""
        make = self.load(name)
        if not callable(make) and not settings:
            return make
        known = _settings_of(make)
        for setting in settings:
            if setting not in known:
                takes = f"it takes {', '.join(known)}" if known else "it takes none"
                raise BadInput(f"{self.kind} '{name}' has no setting '{setting}'; {takes}")
        return make(*subjects, **settings)

    def _unknown(self, name: str) -> str:
        nearest = difflib.get_close_matches(name, self.parts, n=1) or [
            part for part in self.parts if part.startswith(name)
        ]
        suggestion = f" did you mean '{nearest[0]}'?" if nearest else ""
        return f"no {self.kind} named '{name}';{suggestion} known: {', '.join(self.parts)}"


def imported(target: str) -> Any:
    """The object `package.module:object` names; whatever goes wrong in foreign code is one sentence."""
    module, _, attribute = target.partition(":")
    try:
        home = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise BadInput(f"cannot import '{target}': {described(error)}") from error
    try:
        return functools.reduce(getattr, attribute.split("."), home)
    except AttributeError:
        raise BadInput(f"cannot import '{target}': module '{module}' has no '{attribute}'") from None


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


def _settings_of(make: Any) -> list[str]:
    parameters = inspect.signature(make).parameters.values()
    return [one.name for one in parameters if one.default is not inspect.Parameter.empty]
