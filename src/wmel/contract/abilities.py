"""Optional abilities are Protocols; this is the one place that asks whether a part has one."""

import functools
from typing import TypeGuard, TypeVar

Ability = TypeVar("Ability")


def able(part: object, ability: type[Ability]) -> TypeGuard[Ability]:
    """Whether the part implements the methods of a runtime-checkable Protocol."""
    return _implements(type(part), ability)


@functools.cache  # asking a Protocol costs more than a small plan call
def _implements(kind: type, ability: type) -> bool:
    return issubclass(kind, ability)
