"""What wmel raises on purpose; the command line prints any of these as one line and exits with code 2.

WmelError
├── BadInput (ValueError)     a value the caller can correct
│   ├── UnknownPart           a name the catalogue does not hold
│   ├── BadLayout             a grid drawing that is no grid
│   └── BadRecord             a file that is not a record of this schema
├── MissingExtra              a part whose optional packages are not installed
├── CannotWrite               an output that cannot be written
├── BadModel                  a world model returned something that is no latent or observation
├── BadDecision               a policy returned something that is no decision
├── BadStep                   an environment returned something that is no step
└── NoFiniteCandidate         every candidate of a plan call had a NaN or infinite cost
"""

import difflib
import inspect
import os
import sysconfig
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

Choice = TypeVar("Choice", bound=Enum)
LONGEST_VALUE = 80  # characters of a value in a message
NOT_THE_USERS = (  # where the code of wmel, of Python and of installed packages is
    str(Path(__file__).parent) + os.sep,
    *(sysconfig.get_paths()[name] + os.sep for name in ("stdlib", "purelib", "platlib")),
    "<frozen",
    "<string>",  # the constructor of a dataclass
)


class WmelError(Exception):
    """Base of every error wmel raises on purpose."""


class BadInput(WmelError, ValueError):
    """A value the caller can correct."""


class UnknownPart(BadInput):
    """A name the catalogue does not hold."""


class BadLayout(BadInput):
    """A grid drawing that is no grid."""


class BadRecord(BadInput):
    """A file that is not a record of this schema."""


class MissingExtra(WmelError):
    """A part whose optional packages are not installed."""


class CannotWrite(WmelError):
    """An output that cannot be written."""


class BadModel(WmelError):
    """A world model returned something that is no latent or observation."""


class BadDecision(WmelError):
    """A policy returned something that is no decision."""


class BadStep(WmelError):
    """An environment returned something that is no step."""


class NoFiniteCandidate(WmelError):
    """Every candidate of a plan call had a NaN or infinite cost."""


@contextmanager
def needing(package: str, message: str) -> Iterator[None]:
    """Where files are imported that import an optional package: without it, the message says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise MissingExtra(message) from error


def require(condition: bool, message: str, value: object) -> None:
    """Raise BadInput with the message and the offending value unless the condition holds."""
    if not condition:
        raise BadInput(f"{message}, got {shortened(value)}")


def shortened(value: object) -> str:
    """A value as messages show it: on one line, and cut where it is long."""
    words = " ".join(repr(value).split())
    return words if len(words) <= LONGEST_VALUE else f"{words[: LONGEST_VALUE - 3]}..."


def shorten_values(error: Exception, values: Iterable[object]) -> None:
    """Cut the values that a message repeats; what lists and mappings hold is cut one by one."""
    words = str(error)
    for value in values:
        for leaf in _leaves(value):
            words = words.replace(repr(leaf), shortened(leaf)) if len(words) > LONGEST_VALUE else words
    if words != str(error):
        error.args = (words, *error.args[1:])


def _leaves(value: object) -> Iterator[object]:
    held = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else None
    if held is None:
        yield value
    else:
        for one in held:
            yield from _leaves(one)


def require_whole(value: Any, what: str, at_least: int = 1) -> None:
    """Raise BadInput unless the value is an integer of at least so much."""
    require(isinstance(value, Integral) and not isinstance(value, bool), f"{what} must be a whole number", value)
    require(int(value) >= at_least, f"{what} must " + ("be positive" if at_least else "not be negative"), value)


def require_share(value: Any, what: str) -> None:
    """Raise BadInput unless the value is a number strictly between 0 and 1."""
    require(is_number(value) and 0 < value < 1, f"{what} must lie in (0, 1)", value)


def is_number(value: Any) -> bool:
    """Whether the value is a real number; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def chosen(choices: type[Choice], value: object) -> Choice:
    """The choice a value names; anything else is refused with the choices there are."""
    try:
        return choices(value)
    except ValueError:
        known = ", ".join(repr(choice.value) for choice in choices)
        raise BadInput(f"{value!r} is no {choices.__name__.lower()} rule; known: {known}") from None


def described(error: BaseException) -> str:
    """The error as an episode row stores it: its type, then what it said, on one line."""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def nearest(name: object, known: Iterable[str], list_words: str = "known:") -> str:
    """The end of a sentence about an unknown name: the nearest one, and all there are."""
    word, names = str(name), list(known)
    close = difflib.get_close_matches(word, names, n=1) or [one for one in names if one.startswith(word)]
    suggestion = f" did you mean '{close[0]}'?" if close and word else ""
    return f"{suggestion} {list_words} {', '.join(names)}" if names else f" {list_words} none"


def is_users_file(file: str | None) -> bool:
    """Whether code is the user's own: not of wmel, Python or an installed package."""
    return file is not None and not file.startswith(NOT_THE_USERS)


def place_of(error: BaseException) -> str:
    """The place in the user's own code that broke, in brackets; nothing where no such code was running."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if is_users_file(frame.filename):
            return f" ({frame.filename}, line {frame.lineno}, in {frame.name})"
    return "" if error.__cause__ is None else place_of(error.__cause__)


def place_of_code(code: Any) -> str:
    """The place where a function or a class of the user's own is written, in brackets; nothing where it is unknown."""
    try:
        file, (_, line) = inspect.getsourcefile(code), inspect.getsourcelines(code)
    except (TypeError, OSError):
        return ""
    return f" ({file}, line {line}, in {code.__name__})" if is_users_file(file) else ""
