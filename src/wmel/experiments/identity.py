"""The identity of live objects: a hash of what they hold and of their code, by which their rows are found again."""

import builtins
import dis
import pickle
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import fields, is_dataclass
from hashlib import sha256
from types import CodeType, FunctionType, ModuleType
from typing import Any

from wmel.errors import BadInput, describe_error, is_user_code
from wmel.experiments.executors import Failure
from wmel.experiments.own_code import SIMPLE, absolute_name, own_code

GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")


def identity_of(value: Any) -> str | None:
    """The hash of its weights and their use if its spec has weights, else of all its values.

    None if there is no reliable hash.
    """
    weights = getattr(getattr(value, "spec", None), "weights", None)
    return _hash_of_weights(weights, value) if isinstance(weights, str) else _hash_or_reason(value)[0]


def _hash_of_weights(weights: str, value: Any) -> str:
    """The hash of weights with what decides their use: the class of a model, its fields and the form of its networks.

    That of the weights alone if the class has no reliable hash.
    """
    use = {one.name: _form(getattr(value, one.name)) for one in fields(value)} if is_dataclass(value) else {}
    found, _ = _hash_or_reason((weights, type(value), use))
    return weights if found is None else found


def _form(value: Any) -> Any:
    """A simple value, or the layers of a network with their simple attributes; None for any other."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.nn.Module):
        return value if isinstance(value, SIMPLE) else None
    return [
        (name, type(layer).__name__, *sorted(item for item in vars(layer).items() if _is_form(*item)))
        for name, layer in value.named_modules()
    ]


def _is_form(name: str, value: Any) -> bool:
    return isinstance(value, SIMPLE) and name != "training" and not name.startswith("_")


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
            return "module", obj.__name__, *sorted(own_code([obj.__name__]).modules.items())
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
    package = function.__globals__.get("__package__") or ""
    imported = own_code(absolute_name(name, package) for name in _imported_names(function.__code__)).modules
    enclosed = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    defaults = function.__defaults__, function.__kwdefaults__
    return (
        "function",
        function.__qualname__,
        _code_data(function.__code__),
        defaults,
        enclosed,
        values,
        *sorted(imported.items()),
    )


def _code_data(code: CodeType) -> tuple[Any, ...]:
    constants = [_code_data(one) if isinstance(one, CodeType) else one for one in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, constants


def _global_names(code: CodeType) -> Iterator[str]:
    yield from (one.argval for one in dis.get_instructions(code) if one.opname in GLOBAL)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)


def _imported_names(code: CodeType) -> Iterator[str]:
    """The modules that a function imports when it is called, and the objects it takes from them, as it names them."""
    loaded: list[Any] = [None, None]  # by the last two instructions: the level of an import, and its objects
    for one in dis.get_instructions(code):
        if one.opname == "IMPORT_NAME":
            home = "." * loaded[0] + one.argval
            yield home
            yield from (home + ("" if home.endswith(".") else ".") + name for name in loaded[1] or ())
        loaded = [loaded[1], one.argval]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _imported_names(constant)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False
