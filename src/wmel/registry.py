"""Parts by name: where each lives, said as a string so that listing them imports nothing."""

import difflib
import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from wmel.errors import BadInput, UnknownPart


@dataclass(frozen=True)
class Part:
    """One catalogue line: `target` is `package.module:object`."""

    target: str
    summary: str

    def load(self) -> Any:
        module, _, attribute = self.target.partition(":")
        return getattr(importlib.import_module(module), attribute)


class Registry:
    """The parts of one kind."""

    def __init__(self, kind: str, parts: dict[str, Part]):
        self.kind = kind
        self.parts: Mapping[str, Part] = MappingProxyType(parts)

    def load(self, name: str) -> Any:
        """The object a name stands for, imported now."""
        if name not in self.parts:
            raise UnknownPart(self._unknown(name))
        return self.parts[name].load()

    def build(self, name: str, *subjects: Any, **settings: Any) -> Any:
        """The part made with these settings; one it does not have is named."""
        make = self.load(name)
        self._check(name, make, settings)
        return make(*subjects, **settings)

    def settings(self, name: str, **given: Any) -> dict[str, Any]:
        """The settings a part would be built with: those given, and its defaults for the rest."""
        make = self.load(name)
        self._check(name, make, given)
        return {**_defaults(make), **given}

    def _check(self, name: str, make: Any, settings: dict[str, Any]) -> None:
        known = _defaults(make)
        for setting in settings:
            if setting not in known:
                takes = f"it takes {', '.join(known)}" if known else "it takes none"
                raise BadInput(f"{self.kind} '{name}' has no setting '{setting}'; {takes}")

    def _unknown(self, name: str) -> str:
        nearest = difflib.get_close_matches(name, self.parts, n=1)
        suggestion = f" did you mean '{nearest[0]}'?" if nearest else ""
        return f"no {self.kind} named '{name}';{suggestion} known: {', '.join(self.parts)}"


def _defaults(make: Any) -> dict[str, Any]:
    parameters = inspect.signature(make).parameters.values()
    return {one.name: one.default for one in parameters if one.default is not inspect.Parameter.empty}
