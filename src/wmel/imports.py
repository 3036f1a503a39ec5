"""Objects by `package.module:object`: imported, and refused in one line if they cannot be read."""

import functools
import importlib
import inspect
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from wmel.errors import BadInput, MissingExtra, describe_error, locate_error
from wmel.machine import extra_with


def import_object(target: str) -> Any:
    """Imports `package.module:object`. Raises BadInput, whatever error the module raises.

    A package that is not found elsewhere is looked for in the current folder, which becomes the last of the path.
    """
    module, _, attribute = target.partition(":")
    try:
        home = _import_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, ModuleNotFoundError) and error.name and (extra := extra_with(error.name)):
            raise MissingExtra(f"'{target}' needs {error.name}: pip install 'wmel[{extra}]'") from error
        raise BadInput(f"cannot import '{target}': {describe_error(error)}{locate_error(error)}") from error
    try:
        found = functools.reduce(getattr, attribute.split("."), home)
    except AttributeError:
        raise BadInput(f"cannot import '{target}': module '{module}' has no '{attribute}'") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise BadInput(f"cannot import '{target}': {describe_error(error)}{locate_error(error)}") from error
    if found is None:
        raise BadInput(f"'{target}' is None, which is no part")
    check_readable(target, found)
    return found


def check_readable(name: str, thing: Any) -> None:
    """Raises BadInput for an object of the user whose attributes, signature or hash raise errors when they are read."""
    try:
        hasattr(thing, "plan")
        with suppress(TypeError, ValueError):  # it needs no hash, and a builtin has no signature
            inspect.signature(thing if callable(thing) else type(thing))
            hash(thing)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise BadInput(
            f"'{name}' is no part: it cannot be read: {describe_error(error)}{locate_error(error)}"
        ) from error


def _import_module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        folder = str(Path.cwd())
        if error.name != name.partition(".")[0] or folder in sys.path:
            raise
    sys.path.append(folder)
    return importlib.import_module(name)
