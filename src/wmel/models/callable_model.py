"""Models of users: an object with four methods, a pair of functions, or one function."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, update_wrapper
from types import FunctionType
from typing import Any, Literal

import numpy as np

from wmel.arrays import Array, copy_array, describe_array, is_real
from wmel.catalog import MODELS
from wmel.contract.policy import Percept
from wmel.contract.world_model import WorldModelSpec
from wmel.errors import (
    BadInput,
    BadModel,
    describe_error,
    locate_error,
    require,
    require_text,
    require_whole,
    requires_package,
)
from wmel.settings import builds_part


@dataclass(frozen=True, eq=False)
class PairModel:
    """A model from the batched functions `next(z, a)` and `reward(z, a)`. The latent is the observation.

    The function `value(z)` is optional. The arguments are torch tensors on `device`, or numpy arrays if `library` is
    "numpy".
    """

    next: Callable[[Array, Array], Array]  # latents [M,Z], actions [M,A] -> latents [M,Z]
    reward: Callable[[Array, Array], Array]  # latents [M,Z], actions [M,A] -> [M]
    value: Callable[[Array], Array] | None = None  # latents [M,Z] -> [M]
    name: str = "pair"
    library: Literal["torch", "numpy"] = "torch"
    device: str = "cpu"

    def __post_init__(self):
        require(self.library in ("torch", "numpy"), "library must be 'torch' or 'numpy'", self.library)
        if self.library == "torch":
            with requires_package("torch", "a pair of torch functions needs torch: install wmel[learned]"):
                import torch  # noqa: F401

    @property
    def spec(self) -> WorldModelSpec:
        return WorldModelSpec(self.name)

    def encode(self, percept: Percept, previous: Array | None) -> Array:
        if self.library == "numpy":
            return np.asarray(percept.observation, np.float64)
        import torch  # only here: a run without torch must not wait for it, nor need it

        return torch.as_tensor(percept.observation, dtype=torch.float32, device=self.device)

    def step(self, latents: Array, actions: Array) -> Array:
        return self.next(copy_array(latents), actions)  # the function may change its argument

    def decode(self, latents: Array) -> Array:
        return latents

    def rewards(self, trajectory: Array, actions: Array) -> Array:
        """latents [M,H+1,Z], actions [M,H,A] -> rewards [M,H] of each latent and the action taken in it"""
        rows, horizon = actions.shape[:2]
        before = trajectory[:, :-1].reshape(rows * horizon, -1)
        rewards = self.reward(before, actions.reshape(rows * horizon, -1))
        return self._check_shape(rewards, rows * horizon, "reward").reshape(rows, horizon)

    def values(self, latents: Array) -> Array:
        if self.value is None:
            raise BadInput(f"{self.name} has no value function")
        return self._check_shape(self.value(latents), len(latents), "value")

    def _check_shape(self, numbers: Array, rows: int, what: str) -> Array:
        shape = tuple(getattr(numbers, "shape", ()))
        if shape != (rows,):
            raise BadModel(f"the {what} of {self.name} must be one number per row, shape {(rows,)}, got {shape}")
        return numbers


READS, ACTION_INPUTS = ("observation", "state"), ("index", "one_hot", "value")
Interface = Literal["batched", "four methods"]
INTERFACES: dict[Interface, tuple[str, ...]] = {
    "batched": ("spec", "encode", "step", "decode"),
    "four methods": ("encode", "rollout", "score", "plan"),
}
INTERFACE_NAMES: dict[Interface, str] = {
    "batched": "a batched model",
    "four methods": "an object with the four methods",
}


@dataclass(frozen=True)
class CallableModel:
    """A model from a function of one state and one action. The state is the observation.

    Every imagined step of every row is one call of the function, which is slow.
    """

    dynamics: Callable[..., Any]  # (state [O], action values [A]) -> the next state [O]

    @property
    def spec(self) -> WorldModelSpec:
        return WorldModelSpec(getattr(self.dynamics, "__name__", type(self.dynamics).__name__))

    def encode(self, percept: Percept, previous: np.ndarray | None) -> np.ndarray:
        return percept.observation.astype(np.result_type(percept.observation, np.float32))

    def step(self, latents: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """latents [M,O], action values [M,A] -> latents [M,O], by one call of `dynamics` per row"""
        return np.stack([self._next_state(*row) for row in zip(latents, actions, strict=True)])

    def decode(self, latents: np.ndarray) -> np.ndarray:
        return latents

    def _next_state(self, state: np.ndarray, action: np.ndarray) -> np.ndarray:
        arguments = state.copy(), action.copy()
        result = self.dynamics(*arguments)
        after = result if isinstance(result, np.ma.MaskedArray) else np.asarray(result)
        if not is_real(after):
            raise BadModel(f"{self.spec.name} must return real numbers, got {describe_array(after)}")
        if any(one.tobytes() != original.tobytes() for one, original in zip(arguments, (state, action), strict=True)):
            raise BadModel(f"{self.spec.name} changed its argument; it must return a new state")
        if after.shape != state.shape:
            raise BadModel(f"{self.spec.name} must return a state of shape {state.shape}, got {after.shape}")
        return after.astype(state.dtype, copy=False)


def build_user_model(name: str, **settings: Any) -> Any:
    """A model of a user, by `package.module:object` or the name of a plugin.

    A class, or a function of settings alone, builds the model. Any other function is `dynamics(state, action)`, and
    the settings are its further arguments.
    """
    spec = MODELS.spec(name, settings)
    if _builds_model(spec.factory):
        return spec.build()
    return update_wrapper(partial(spec.factory, **spec.settings), spec.factory) if spec.settings else spec.factory


def adapt_model(thing: Any) -> tuple[Interface, Any]:
    """The interface of a model, and the model. A class, or a function of settings alone, builds the model.

    Any other function becomes a batched model. An object with both interfaces counts as batched. Raises BadInput for
    an object with neither.
    """
    thing = _build_default(thing) if _builds_model(thing) else thing
    missing: dict[Interface, list[str]] = {
        interface: [name for name in names if getattr(thing, name, None) is None]
        for interface, names in INTERFACES.items()
    }
    for interface, names in missing.items():
        if not names:
            if interface == "batched":
                _check_spec(thing.spec, type(thing).__name__)
            return interface, thing
    if callable(thing):
        return "batched", CallableModel(thing)
    closest = min(INTERFACES, key=lambda interface: len(missing[interface]) / len(INTERFACES[interface]))
    if len(missing[closest]) < len(INTERFACES[closest]):
        raise BadInput(
            f"{type(thing).__name__} is not {INTERFACE_NAMES[closest]}: it lacks {', '.join(missing[closest])}"
        )
    raise BadInput(
        f"a model is a batched model ({', '.join(INTERFACES['batched'])}), an object with the four methods "
        f"({', '.join(INTERFACES['four methods'])}) or a callable dynamics(state, action); got {type(thing).__name__}"
    )


def _check_spec(spec: Any, model: str) -> None:
    """Raises BadInput for a spec of another class, or with a setting of another type."""
    require(isinstance(spec, WorldModelSpec), f"the spec of {model} must be a WorldModelSpec", spec)
    require_text(spec.name, f"the name of {model}")
    for name, known in (("reads", READS), ("action_input", ACTION_INPUTS)):
        value = getattr(spec, name)
        require(value in known, f"{name} of {model} must be one of {', '.join(known)}", value)
    if spec.weights is not None:
        require_text(spec.weights, f"weights, the hash of the weights of {model},")
    require_whole(spec.row_multiple, f"row_multiple of {model}")


def _builds_model(thing: Any) -> bool:
    """Whether it is a class, or a function of settings alone."""
    return isinstance(thing, type) or (isinstance(thing, FunctionType) and builds_part(thing))


def _build_default(make: Any) -> Any:
    try:
        return make()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        reason = f"{describe_error(error)}{locate_error(error)}"
        what = f"class {make.__name__} cannot be built" if isinstance(make, type) else f"function {make.__name__} fails"
        raise BadInput(f"the {what}: {reason}") from error
