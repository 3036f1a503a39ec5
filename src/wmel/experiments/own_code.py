"""The user's own code behind a part: its module and the user's modules that it imports, with a hash of each file.

Imports are read from the source, so that one inside a function counts too. Modules of wmel, Python and installed
packages are left out: their versions are recorded.
"""

import ast
import importlib.util
import inspect
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from wmel.errors import WmelError, is_user_code
from wmel.files import Stamp, hash_files, stamp_of
from wmel.parts import Registry
from wmel.settings import settings_of

MAX_MODULES = 1000  # that are followed
CACHED_SOURCES = 4096
LIBRARIES = {*sys.stdlib_module_names, "wmel"}
SIMPLE = (bool, int, float, str)
UNCHECKED = " unchecked"  # end of the key of a kind of part: why some of its code cannot be checked
COMPUTED = ("import_module", "__import__", "exec", "run_path", "run_module", "spec_from_file_location")


@dataclass(eq=False)
class OwnCode:
    """The hash of every module of the user behind a part, and why some of its code cannot be checked."""

    modules: dict[str, str] = field(default_factory=dict)  # name -> SHA-256 of its file
    unchecked: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Source:
    imports: tuple[str, ...]  # absolute names of modules, or of objects in them
    computed: tuple[int, ...]  # lines that import or run code of a computed name


def code_of_part(registry: Registry, name: str) -> dict[str, str]:
    """Hashes of the file that defines a part, of the user's modules behind it, and of the settings of an object.

    The keys begin with the kind of the part. A part of wmel has none: its package has a hash.
    """
    if name in registry.built_in:
        return {}
    try:
        found = registry.load(name)
    except WmelError:
        return {}
    maker = getattr(found, "func", found)  # a partial: one maker of several parts
    definition = maker if isinstance(maker, type) or inspect.isroutine(maker) else type(maker)
    kind, file = registry.kind, _source_file(definition)
    own = own_code([name.partition(":")[0], *(one.__module__ for one in getattr(definition, "__mro__", (definition,)))])
    code = {} if file is None else {kind: hash_files(file)}
    code |= {f"{kind} {module}": digest for module, digest in own.modules.items() if digest != code.get(kind)}
    if not code:
        own.unchecked.append("its source is not known")
    if own.unchecked:
        code[kind + UNCHECKED] = own.unchecked[0]
    names = settings_of(definition) if definition is type(found) else ()
    settings = {one: getattr(found, one, None) for one in names}
    simple = {one: value for one, value in settings.items() if isinstance(value, SIMPLE)}
    return code | ({f"{kind} settings": sha256(json.dumps(simple).encode()).hexdigest()} if simple else {})


def _source_file(definition: Any) -> Path | None:
    """The file that defines a class or function; None if it is unknown."""
    try:
        file = inspect.getsourcefile(definition)
    except (TypeError, OSError):
        return None
    return None if file is None or not Path(file).is_file() else Path(file)


def own_code(names: Iterable[str]) -> OwnCode:
    """The user's own modules of these names, and those that they import, in turn."""
    found, left, seen = OwnCode(), list(names), set[str]()
    while left:
        for name in _with_parents(left.pop()):
            if name in seen or not name or name.partition(".")[0] in LIBRARIES:
                continue
            seen.add(name)
            file = _file_of(name)
            if file is None and name == "__main__":
                found.unchecked.append("code that is typed into a session or a notebook has no file")
            if file is None or not is_user_code(str(file)):
                continue
            if len(found.modules) == MAX_MODULES:
                found.unchecked.append(f"it imports more than {MAX_MODULES} modules")
                return found
            left += _add(found, name, file)
    return found


def _add(found: OwnCode, name: str, file: Path) -> tuple[str, ...]:
    """Adds a module; returns the names that it imports."""
    try:
        found.modules[name] = hash_files(file)
        package = name if file.stem == "__init__" else name.rpartition(".")[0]
        source = _read(file, stamp_of(file), package) if file.suffix == ".py" else _Source((), ())
    except (OSError, ValueError, SyntaxError, RecursionError):
        found.unchecked.append(f"{file} cannot be read")
        return ()
    if source.computed:
        found.unchecked.append(f"{file}, line {source.computed[0]}, imports or runs code by a computed name")
    return source.imports


def _with_parents(name: str) -> Iterator[str]:
    """A name and its packages, which are imported with it: a, a.b, a.b.c."""
    parts = name.split(".")
    yield from (".".join(parts[: count + 1]) for count in range(len(parts)))


def _file_of(name: str) -> Path | None:
    """The file of a module, whether it is imported yet or not; None if there is none. Runs nothing."""
    module = sys.modules.get(name)
    if isinstance(module, ModuleType):
        file = getattr(module, "__file__", None)
        return Path(file) if isinstance(file, str) else None
    spec = _find_spec(name)
    return Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None


def _find_spec(name: str) -> ModuleSpec | None:
    """Where a module that is not imported yet would be found."""
    package = name.rpartition(".")[0]
    home = sys.modules.get(package)
    try:
        if not package:
            return PathFinder.find_spec(name)
        where = getattr(home, "__path__", None) or getattr(_find_spec(package), "submodule_search_locations", None)
        return PathFinder.find_spec(name, where) if where else None
    except (ImportError, ValueError, OSError):
        return None


@lru_cache(CACHED_SOURCES)
def _read(file: Path, stamp: Stamp | None, package: str) -> _Source:
    """What a source file imports. The stamp makes the cache notice another content."""
    imports: list[str] = []
    computed: list[int] = []
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            imports += [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            home = absolute_name("." * node.level + (node.module or ""), package)
            imports += [f"{home}.{one.name}" for one in node.names if home and one.name != "*"] or [home]
        elif isinstance(node, ast.Call) and _called_name(node) in COMPUTED:
            first = node.args[0] if node.args else None
            if _called_name(node) == "import_module" and isinstance(first, ast.Constant):
                imports.append(absolute_name(str(first.value), package))
            else:
                computed.append(node.lineno)
    return _Source(tuple(one for one in imports if one), tuple(computed))


def absolute_name(name: str, package: str) -> str:
    """The absolute name of a module that code of a package imports; empty if it has none."""
    try:
        return importlib.util.resolve_name(name, package)
    except ImportError:
        return ""


def _called_name(call: ast.Call) -> str:
    function = call.func
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )
