"""The identity of live objects: a hash of their values and of the user's code, and whether they can be pickled.

Rows of an object with a known hash are found again, by this process or another. An object that changed is another one.
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
    except Exception as error:
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
    except Exception as error:
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
