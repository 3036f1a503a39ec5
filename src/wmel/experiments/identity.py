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
from typing import Annotated, Any

from pydantic import Field, model_validator

from wmel import catalog
from wmel.errors import BadInput, describe_error, is_user_code, suggest_name
from wmel.experiments.executors import Failure
from wmel.experiments.keys import PartKeys, Seed, environment_part, refuse_taken_names

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


def check_picklable(objects: Mapping[str, Any], executor: Any) -> None:
    """Raises BadInput for live objects that cannot be sent to the workers of an executor."""
    jobs = [(name, _pickle(name, value)) for name, value in objects.items()]
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


SEED = "{seed}"  # in the name of a checkpoint: the seed of its training
SOURCES = ("checkpoint", "object", "trainer", "given")


class ModelKeys(PartKeys):
    """A checkpoint (or one per training seed, with `{seed}` in its name), an object of the user, or a recipe."""

    registry = catalog.MODELS

    checkpoint: str | None = None
    object: str | None = None
    trainer: str | None = None
    weights: str | None = None  # of a live object: the hash of its weights, if it has one
    rollout: str | None = None  # how it imagines, if it has a choice
    policy: str | dict[str, Any] | None = None  # the model's own policy, which acts instead of the planner
    environment: str | dict[str, Any] | None = (
        None  # where a recipe is trained; none: in the environment of the setting
    )
    seeds: Annotated[list[Seed], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> "ModelKeys":
        kinds = [kind for kind in SOURCES if getattr(self, kind) not in (None, False)]
        if len(kinds) != 1:
            raise ValueError(f"a model is one of checkpoint, object and trainer, got {' and '.join(kinds) or 'none'}")
        if self.name in ("oracle", "random", ""):
            raise ValueError(f"{self.name!r} is the name of an arm of every study")
        if self.trainer is None and self.object is None and self.settings:
            known = [name for name in type(self).model_fields if name != "given"]
            first = next(iter(self.settings))
            nearest = suggest_name(first, known)
            raise ValueError(f"{first} belongs to a recipe or an object, and this model names no trainer;{nearest}")
        if self.checkpoint is not None:
            if SEED in self.checkpoint and self.seeds is None:
                raise ValueError(f"a checkpoint for each seed ({SEED} in its name) needs seeds = [...]")
            if SEED not in self.checkpoint and self.seeds is not None:
                raise ValueError(
                    f"seeds of a checkpoint need {SEED} in its name, in place of the seed of each training"
                )
        elif self.trainer is None and self.seeds is not None:
            raise ValueError("seeds belongs to a recipe, and this model names no trainer")
        if self.trainer is None and self.environment is not None:
            raise ValueError("environment is where a recipe is trained, and this model names no trainer")
        if self.object is not None and self.rollout is not None:
            raise ValueError("rollout belongs to a checkpoint or a trainer, and this model is an object")
        return self

    def refuse_taken_names(self) -> None:
        if self.trainer is not None:
            given, make = [*self.model_fields_set, *self.settings], catalog.TRAINERS.load(self.trainer)
            refuse_taken_names("trainer", self.trainer, make, given, type(self).model_fields)

    def recipe(self, seed: int) -> dict[str, Any]:
        """The trainer with its settings, as data."""
        assert self.trainer is not None
        if "seed" in self.settings:
            raise BadInput("a recipe takes seeds = [...], one for each training, instead of seed")
        has_seed = "seed" in catalog.TRAINERS.settings_of(self.trainer)
        if not has_seed and len(self.seeds or ()) > 1:
            raise BadInput(f"trainer '{self.trainer}' has no setting 'seed': give one seed or none, got {self.seeds}")
        seeded = {"seed": seed} if has_seed else {}
        spec = catalog.TRAINERS.spec(self.trainer, {**self.settings, **seeded})
        spec.build()  # refuses settings that contradict each other
        return {**spec.key_data, **seeded}

    @property
    def object_settings(self) -> dict[str, Any]:
        """The settings of an object of the user that differ from their defaults."""
        data = {} if self.object is None else catalog.MODELS.spec(self.object, self.settings).key_data
        return {name: value for name, value in data.items() if name != "name"}

    def check(self) -> None:
        """Raises BadInput for unknown settings of a trainer or an object, and for an unknown policy or environment."""
        _ = self.policy_part, environment_part(self.environment), self.object_settings
        if self.trainer is not None:
            self.recipe(0)

    @property
    def policy_part(self) -> dict[str, Any] | None:
        if self.policy is None:
            return None
        name, settings = catalog.name_and_settings(self.policy, "policy")
        return catalog.POLICIES.spec(name, settings).key_data
