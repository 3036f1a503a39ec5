"""Live objects: a hash of their values and of the code that is the user's own, and whether they can be sent elsewhere.

Rows of an object whose hash is known are found again, by this process or by another; an object that changed is another.
"""

import builtins
import dis
import pickle
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from hashlib import sha256
from types import CodeType, FunctionType, ModuleType
from typing import Any

from wmel.errors import BadInput, describe_error, is_user_code
from wmel.experiments.executors import Failure

GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")


def identity_of(thing: Any) -> str | None:
    """The hash of its weights where its spec has one, else of all that it holds; None where that cannot be known."""
    weights = getattr(getattr(thing, "spec", None), "weights", None)
    return weights if isinstance(weights, str) else _hash_or_reason(thing)[0]


def why_unknown(thing: Any) -> str | None:
    """Why an object cannot be recognised; None where it can."""
    return None if identity_of(thing) is not None else f"{type(thing).__name__}: {_hash_or_reason(thing)[1]}"


def _hash_or_reason(thing: Any) -> tuple[str | None, str]:
    try:
        first, second = _hash(thing), _hash(thing)
    except Exception as error:
        return None, describe_error(error)
    return (first, "") if first == second else (None, "it is not pickled to the same bytes twice")


def check_objects_travel(objects: Mapping[str, Any], executor: Any) -> None:
    """Refuse live objects that the workers of an executor could not be given."""
    jobs = [(name, _packed(name, thing)) for name, thing in objects.items()]
    with closing(executor(_unpack, jobs)) as outcomes:
        for (name, _), outcome in outcomes:
            if isinstance(outcome, Failure):
                raise BadInput(_words(name, outcome.reason))


def _packed(name: str, thing: Any) -> bytes:
    try:
        return pickle.dumps(thing)
    except Exception as error:
        raise BadInput(_words(name, describe_error(error))) from error


def _unpack(job: tuple[str, bytes]) -> None:
    pickle.loads(job[1])


def _words(name: str, reason: str) -> str:
    way_out = "put its class into a module that can be imported, or use the executor serial"
    return f"'{name}' cannot be sent to other processes: {reason}: {way_out}"


class _Sink:
    """A file that keeps nothing but its hash."""

    def __init__(self):
        self.hash = sha256()

    def write(self, data: Any) -> int:
        self.hash.update(data)
        return len(data)


def _hash(thing: Any) -> str:
    sink = _Sink()
    _Pickler(sink).dump(thing)
    return sink.hash.hexdigest()


class _Pickler(pickle.Pickler):
    """Pickles values, and the user's code too, where pickle has the name of a class or function alone."""

    def __init__(self, sink: _Sink):
        super().__init__(sink, protocol=5)
        self.fast = True  # the same bytes, whether equal values are one object or two
        self._places: dict[int, int] = {}  # id of code that was met -> its place

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


def _is_users_code(thing: Any) -> bool:
    if isinstance(thing, FunctionType):
        return is_user_code(thing.__code__.co_filename)
    if not isinstance(thing, type):
        return False
    module = sys.modules.get(thing.__module__)
    return thing.__module__ == "__main__" or module is None or is_user_code(getattr(module, "__file__", None))


def _class_data(kind: type) -> tuple[Any, ...]:
    """Its name, what it inherits from, and what it defines; of names with underscores around them, functions alone."""
    functions = FunctionType | staticmethod | classmethod | property
    own = {
        name: value
        for name, value in vars(kind).items()
        if not (name.startswith("__") and name.endswith("__")) or isinstance(value, functions)
    }
    return "class", kind.__qualname__, kind.__bases__, sorted(own.items(), key=lambda item: item[0])


def _function_data(function: FunctionType) -> tuple[Any, ...]:
    """Its instructions, defaults and what it refers to from outside."""
    outside = sorted({name for name in _global_names(function.__code__) if not hasattr(builtins, name)})
    values = [(name, function.__globals__[name]) for name in outside if name in function.__globals__]
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
