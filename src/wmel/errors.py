"""The errors that wmel raises, and their messages. The command line prints each as one line and exits with code 2.

WmelError
├── BadInput (ValueError)     a value that the caller can correct
│   ├── UnknownPart           a name that is not in the catalogue
│   ├── BadLayout             an invalid drawing of a grid
│   └── BadRecord             a file that is not a record of this schema
├── MissingExtra              a part whose optional packages are not installed
├── CannotWrite               an output that cannot be written
├── BadModel                  a world model returned an invalid latent or observation
├── BadDecision               a policy returned an invalid decision
├── BadStep                   an environment returned an invalid step
└── NoFiniteCandidate         every candidate of a plan call had a NaN or infinite cost
"""

import difflib
import inspect
import os
import sysconfig
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

Choice = TypeVar("Choice", bound=Enum)
MAX_WHOLE = 1_000_000_000  # of a whole number without a limit of its own
MAX_NAMES = 5  # in a message about an unknown name, where a command lists all
LONGEST_VALUE = 80  # characters of a value in a message
MOST_NAMES = 50  # listed in a message
LONGEST_MESSAGE = 200  # of the message of a part that breaks
LONGEST_LINE = 2000  # of a line about an error
LIBRARY_PATHS = (  # of wmel, Python and installed packages
    str(Path(__file__).parent) + os.sep,
    *(sysconfig.get_paths()[name] + os.sep for name in ("stdlib", "purelib", "platlib")),
    "<frozen",
    "<string>",  # constructors of dataclasses
)


class WmelError(Exception):
    """Base class of every error that wmel raises."""


class BadInput(WmelError, ValueError):
    """A value that the caller can correct."""


class UnknownPart(BadInput):
    """A name that is not in the catalogue."""


class BadLayout(BadInput):
    """An invalid drawing of a grid."""


class BadRecord(BadInput):
    """A file that is not a record of this schema."""


class MissingExtra(WmelError):
    """A part whose optional packages are not installed."""


class CannotWrite(WmelError):
    """An output that cannot be written."""


class BadModel(WmelError):
    """A world model returned an invalid latent or observation."""


class BadDecision(WmelError):
    """A policy returned an invalid decision."""


class BadStep(WmelError):
    """An environment returned an invalid step."""


class NoFiniteCandidate(WmelError):
    """Every candidate of a plan call had a NaN or infinite cost."""


@contextmanager
def requires_package(package: str, message: str) -> Iterator[None]:
    """Raises MissingExtra with a message if an import inside it fails for lack of an optional package."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise MissingExtra(message) from error


def require(condition: bool, message: str, value: object) -> None:
    """Raises BadInput with the message and the value unless the condition holds."""
    if not condition:
        raise BadInput(f"{message}, got {shorten(value)}")


def shorten(value: object) -> str:
    """A value as text for a message: on one line, at most LONGEST_VALUE characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def shorten_values(error: Exception, values: Iterable[object]) -> None:
    """Shortens the given values, or their items, in the message of an error."""
    text = str(error)
    for value in values:
        for leaf in _leaves(value):
            text = text.replace(repr(leaf), shorten(leaf)) if len(text) > LONGEST_VALUE else text
    if text != str(error):
        error.args = (text, *error.args[1:])


def _leaves(value: object) -> Iterator[object]:
    """The values nested in lists and mappings."""
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else None
    if items is None:
        yield value
    else:
        for item in items:
            yield from _leaves(item)


def require_whole(value: Any, what: str, at_least: int = 1, at_most: int = MAX_WHOLE) -> None:
    """Raises BadInput unless the value is an integer of at least `at_least` and at most `at_most`."""
    require(isinstance(value, Integral) and not isinstance(value, bool), f"{what} must be a whole number", value)
    require(int(value) >= at_least, f"{what} must " + ("be positive" if at_least else "not be negative"), value)
    require(int(value) <= at_most, f"{what} must be at most {at_most:,}", value)


def require_text(value: Any, what: str) -> None:
    """Raises BadInput unless the value is a text that is not empty."""
    require(isinstance(value, str) and value != "", f"{what} must be text", value)


def require_share(value: Any, what: str) -> None:
    """Raises BadInput unless the value is a number strictly between 0 and 1."""
    require(is_number(value) and 0 < value < 1, f"{what} must lie in (0, 1)", value)


def is_number(value: Any) -> bool:
    """Whether the value is a real number. Booleans are not numbers."""
    return isinstance(value, Real) and not isinstance(value, bool)


def parse_choice(choices: type[Choice], value: object) -> Choice:
    """The member of an enumeration that a value names. Raises BadInput with the known choices."""
    try:
        return choices(value)
    except ValueError:
        known = ", ".join(repr(choice.value) for choice in choices)
        raise BadInput(f"{choices.__name__.lower()} must be one of {known}; got {value!r}") from None


def describe_error(error: BaseException) -> str:
    """The type and message of an error on one line, as the row of an episode stores it."""
    text = message_of(error)
    return printable(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def message_of(error: BaseException) -> str:
    """The message of an error on one line, also where its `__str__` fails."""
    try:
        return " ".join(str(error).split())
    except (Exception, SystemExit) as broken:  # noqa: BLE001
        return f"its message cannot be read ({type(broken).__name__})"


def raise_interrupt(error: BaseException | None) -> None:
    """Raises KeyboardInterrupt if an error is one or was caused by one: Python wraps a Ctrl-C during some imports."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        error = error.__cause__ or error.__context__


def printable(text: str, longest: int = LONGEST_MESSAGE) -> str:
    """A text on one line of at most `longest` characters that a terminal, a file and JSON can hold."""
    line = escape_unprintable(" ".join(text[: 10 * longest].split())[: longest + 1])
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def escape_unprintable(text: str) -> str:
    """The text with escapes in place of control characters, lone surrogates and invisible marks."""
    if text.isprintable():
        return text
    return "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode() for mark in text)


def suggest_name(name: object, known: Iterable[str], list_words: str = "known:", *, command: str = "") -> str:
    """The end of a message about an unknown name: the closest known name, then all of them, or the first of
    many.

    Where a command lists them, at most MAX_NAMES are named, the nearest first.
    """
    word, names = str(name), list(known)
    if command and len(names) > MAX_NAMES:
        return f"{_nearest_names(word, names)} `{command}` names all {len(names)}"
    close = difflib.get_close_matches(word, names, n=1) or [one for one in names if one.startswith(word)]
    suggestion = f" did you mean '{close[0]}'?" if close and word else ""
    shown = names if len(names) <= MOST_NAMES else [*names[:MOST_NAMES], f"and {len(names) - MOST_NAMES} more"]
    return f"{suggestion} {list_words} {', '.join(shown)}" if names else f" {list_words} none"


def _nearest_names(word: str, names: Sequence[str]) -> str:
    """The names that are spelled most like a word, or have it in them; empty if there are none."""
    close = difflib.get_close_matches(word, names, n=MAX_NAMES)
    inside = [one for one in names if word and word in one]
    first, *others = [*dict.fromkeys([*close, *inside])][:MAX_NAMES] or [""]
    alike = f" others like it: {', '.join(others)};" if others else ""
    return f" did you mean '{first}'?{alike}" if first else ""


def with_article(noun: str) -> str:
    """A noun with its indefinite article."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def refuse_definition(kind: str, part: Any) -> None:
    """Raises BadInput for a class or function given in place of the part that it builds."""
    if isinstance(part, type):
        raise BadInput(f"{part.__name__} is a class, not {with_article(kind)}: pass an instance of it")
    if inspect.isfunction(part):
        called = f"{part.__module__}:{part.__qualname__}"
        raise BadInput(f"{part.__name__} is a function, not {with_article(kind)}: pass what it returns, or '{called}'")


def is_user_code(file: str | None) -> bool:
    """Whether a file is the user's own: not part of wmel, Python or an installed package."""
    return file is not None and not file.startswith(LIBRARY_PATHS)


def locate_error(error: BaseException) -> str:
    """The line of the user's own code that raised an error, in brackets. Empty if none did."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if is_user_code(frame.filename):
            return f" ({frame.filename}, line {frame.lineno}, in {frame.name})"
    return "" if error.__cause__ is None else locate_error(error.__cause__)


def locate_code(code: Any, *, is_library_shown: bool = False) -> str:
    """The line that defines a function or class of the user, in brackets. Empty if it is unknown.

    Code of wmel and of installed packages is located only with `is_library_shown`.
    """
    try:
        file, (_, line) = inspect.getsourcefile(code), inspect.getsourcelines(code)
    except (TypeError, OSError):
        return ""
    return f" ({file}, line {line}, in {code.__name__})" if is_library_shown or is_user_code(file) else ""
