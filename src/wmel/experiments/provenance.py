"""Provenance: the versions, machine, code and live objects that rows were computed with, and what has changed since.

Rows of an object with a known hash are found again, by this process or another. An object that changed is another one.
"""

import ast
import builtins
import dis
import inspect
import pickle
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import wmel
from wmel import catalog
from wmel.contract.cell import Cell, Diagnostic
from wmel.errors import BadInput, WmelError, describe_error, is_user_code
from wmel.experiments.executors import Failure
from wmel.machine import thread_limit, versions_in_use
from wmel.parts import Registry
from wmel.schema import Run

ROOT = Path(wmel.__file__).parent
LOOP = ("arrays", "schema", "randomness", "contract", "closed_loop", "models", "policies")
SECONDS_FOR_GIT = 5
COMPARED = {  # fields that are compared when a study is resumed, and their names in messages
    "versions": "versions",
    "code": "code",
    "weights": "weights",
    "weights_file": "weights",
    "device": "device",
}


def cell_provenance(cell: Cell | Diagnostic, run: Run | None, weights: str | None = None) -> dict[str, Any]:
    """The provenance of a run of a cell, or of a reading, which has no run."""
    return {
        "versions": versions_in_use() if run is None else dict(run.versions),
        "code": code_of(cell),
        "weights": weights if run is None else run.policy_settings.get("weights"),
        "machine": {"cpu": _cpu()[0], "flags": _cpu()[1], "system": platform.platform(), "threads": thread_limit()},
        "git": _git(),
    }


def code_of(cell: Cell | Diagnostic) -> dict[str, str]:
    """Hashes of the code that computes a cell: packages of wmel, and the files of parts from other packages."""
    named, model = _parts_of(cell)
    packages = ["loop", "environments", "planners", "objectives", "perturbations"]
    packages += ["training"] if model is not None and "trainer" in model else []
    packages += ["diagnostics"] if isinstance(cell, Diagnostic) else []
    own = {package: _package_hash(package) for package in packages}
    foreign = {
        registry.kind: _source_hash(registry, name)
        for registry, name in named
        if name is not None and name not in registry.built_in
    }
    return own | {kind: digest for kind, digest in foreign.items() if digest is not None}


def _parts_of(cell: Cell | Diagnostic) -> tuple[list[tuple[Registry, str | None]], Mapping[str, Any] | None]:
    """The parts that a cell names, and its model."""
    if isinstance(cell, Diagnostic):
        named = [(catalog.ENVIRONMENTS, cell.environment), (catalog.OBJECTIVES, cell.objective)]
        model = cell.model
    else:
        task, arm = cell.task, cell.arm
        named = [
            (catalog.ENVIRONMENTS, task.environment),
            (catalog.PERTURBATIONS, task.perturbation),
            (catalog.PLANNERS, arm.planner),
            (catalog.OBJECTIVES, arm.objective),
            (catalog.POLICIES, arm.policy),
        ]
        model = arm.model
    names = [(registry, None if part is None else part["name"]) for registry, part in named]
    return [*names, (catalog.MODELS, None if model is None else model.get("object"))], model


def differences(stored: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two provenances, in words; a package that only one of them has is not compared."""
    found = []
    for field, name in COMPARED.items():
        one, other = stored.get(field), now.get(field)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            shared = [key for key in one if key in other and one[key] != other[key]]
            found += [f"{name} of {key} ({_short(one[key])}, now {_short(other[key])})" for key in shared]
        elif one is not None and other is not None and one != other:
            found.append(f"{name} ({_short(one)}, now {_short(other)})")
    return found


def _short(value: Any) -> str:
    return str(value)[:12]


@cache
def _package_hash(package: str) -> str:
    """The hash of the definitions in a package of wmel; `loop` are the packages that run the others.

    Comments, docstrings and the place of a definition do not change it.
    """
    definitions = sorted(
        sha256(ast.unparse(one).encode()).hexdigest()
        for place in (LOOP if package == "loop" else (package,))
        for path in (sorted((ROOT / place).rglob("*.py")) or [ROOT / f"{place}.py"])
        for one in _definitions(ast.parse(path.read_bytes()))
    )
    return sha256("".join(definitions).encode()).hexdigest()


def _definitions(module: ast.Module) -> list[ast.stmt]:
    """The definitions of a module, without imports and docstrings."""
    for node in ast.walk(module):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            first.value = ast.Constant("")
    imports = (ast.Import, ast.ImportFrom, ast.Expr)
    return [one for one in module.body if not isinstance(one, imports)]


def _source_hash(registry: Registry, name: str) -> str | None:
    """The hash of the file that defines a part; None if it cannot be read."""
    try:
        found = registry.load(name)
        maker = getattr(found, "func", found)  # a partial: one maker of several parts
        file = inspect.getsourcefile(maker if callable(maker) else type(maker))
    except (WmelError, TypeError, OSError):
        return None
    return None if file is None else sha256(Path(file).read_bytes()).hexdigest()


@cache
def _cpu() -> tuple[str, list[str]]:
    """The name of the CPU and its vector instructions."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor(), []
    fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in reversed(lines))}
    flags = sorted(flag for flag in fields.get("flags", "").split() if flag.startswith(("avx", "fma")))
    return fields.get("model name", platform.processor()), flags


@cache
def _git() -> dict[str, Any] | None:
    """The commit of the current folder and whether files differ from it; None outside of a repository."""

    def run_git(*words: str) -> str:
        return subprocess.check_output(
            ["git", *words], text=True, stderr=subprocess.DEVNULL, timeout=SECONDS_FOR_GIT
        ).strip()

    try:
        return {"commit": run_git("rev-parse", "HEAD"), "dirty": bool(run_git("status", "--porcelain"))}
    except (OSError, subprocess.SubprocessError):
        return None


GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")


def identity_of(value: Any) -> str | None:
    """The hash of its weights if its spec has one, else of all its values; None if there is no reliable hash."""
    weights = getattr(getattr(value, "spec", None), "weights", None)
    return weights if isinstance(weights, str) else _hash_or_reason(value)[0]


def why_unidentified(value: Any) -> str | None:
    """Why an object has no identity; None if it has one."""
    return None if identity_of(value) is not None else f"{type(value).__name__}: {_hash_or_reason(value)[1]}"


def _hash_or_reason(value: Any) -> tuple[str | None, str]:
    try:
        first, second = _hash(value), _hash(value)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return None, describe_error(error)
    return (first, "") if first == second else (None, "two pickles of it differ")


def check_picklable(objects: Mapping[tuple[str, str], Any], executor: Any) -> None:
    """Raises BadInput for live objects that cannot be sent to the workers of an executor."""
    jobs = [(name, _pickle(name, value)) for (_, name), value in objects.items()]
    with closing(executor(_unpack, jobs)) as outcomes:
        for (name, _), outcome in outcomes:
            if isinstance(outcome, Failure):
                raise BadInput(_not_sent_message(name, outcome.reason))


def _pickle(name: str, value: Any) -> bytes:
    try:
        return pickle.dumps(value)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise BadInput(_not_sent_message(name, describe_error(error))) from error


def _unpack(job: tuple[str, bytes]) -> None:
    pickle.loads(job[1])


def _not_sent_message(name: str, reason: str) -> str:
    advice = "put its class into a module that can be imported, or use the executor serial"
    return f"'{name}' cannot be sent to other processes: {reason}: {advice}"


class _Sink:
    """A file that keeps only the hash of what is written."""

    def __init__(self):
        self.hash = sha256()

    def write(self, data: Any) -> int:
        self.hash.update(data)
        return len(data)


def _hash(value: Any) -> str:
    sink = _Sink()
    _Pickler(sink).dump(value)
    return sink.hash.hexdigest()


class _Pickler(pickle.Pickler):
    """Pickles values and the user's code, of which pickle alone would write only the name."""

    def __init__(self, sink: _Sink):
        super().__init__(sink, protocol=5)
        self.fast = True  # equal values give equal bytes, whether they are one object or two
        self._places: dict[int, int] = {}  # id of code -> its place in the order of first use

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, ModuleType):
            return "module", obj.__name__
        if isinstance(obj, set | frozenset):
            return "set", sorted(map(_hash, obj))
        if isinstance(obj, staticmethod | classmethod):
            return type(obj).__name__, obj.__func__
        if isinstance(obj, property):
            return "property", obj.fget, obj.fset
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(obj, torch.Tensor):
            numbers = obj.detach().cpu().contiguous().flatten().view(torch.uint8).numpy()
            return "tensor", str(obj.dtype), tuple(obj.shape), numbers.tobytes()
        return self._code_id(obj) if _is_users_code(obj) else None

    def _code_id(self, code: Any) -> Any:
        if id(code) in self._places:
            return "met", self._places[id(code)]
        self._places[id(code)] = len(self._places)
        return _function_data(code) if isinstance(code, FunctionType) else _class_data(code)


def _is_users_code(value: Any) -> bool:
    if isinstance(value, FunctionType):
        return is_user_code(value.__code__.co_filename)
    if not isinstance(value, type):
        return False
    module = sys.modules.get(value.__module__)
    return value.__module__ == "__main__" or module is None or is_user_code(getattr(module, "__file__", None))


def _class_data(kind: type) -> tuple[Any, ...]:
    """The name, the bases and the definitions of a class; of names with double underscores only the functions."""
    functions = FunctionType | staticmethod | classmethod | property
    own = {
        name: value
        for name, value in vars(kind).items()
        if not (name.startswith("__") and name.endswith("__")) or isinstance(value, functions)
    }
    return "class", kind.__qualname__, kind.__bases__, sorted(own.items(), key=lambda item: item[0])


def _function_data(function: FunctionType) -> tuple[Any, ...]:
    """The instructions and defaults of a function, and the outside values that it refers to."""
    names = sorted({name for name in _global_names(function.__code__) if not hasattr(builtins, name)})
    values = [(name, function.__globals__[name]) for name in names if name in function.__globals__]
    enclosed = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    defaults = function.__defaults__, function.__kwdefaults__
    return "function", function.__qualname__, _code_data(function.__code__), defaults, enclosed, values


def _code_data(code: CodeType) -> tuple[Any, ...]:
    constants = [_code_data(one) if isinstance(one, CodeType) else one for one in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, constants


def _global_names(code: CodeType) -> Iterator[str]:
    yield from (one.argval for one in dis.get_instructions(code) if one.opname in GLOBAL)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False
