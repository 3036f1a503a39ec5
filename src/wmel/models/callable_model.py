"""A model of your own: batched, an object with four methods, or a plain `dynamics(state, action) -> state`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, update_wrapper
from types import FunctionType
from typing import Any, Literal

import numpy as np

from wmel.catalog import MODELS
from wmel.contract.policy import Percept
from wmel.contract.world_model import WorldModelSpec
from wmel.errors import BadInput, BadModel, describe_error, locate_error
from wmel.settings import builds_part

Way = Literal["batched", "four methods"]
METHODS: dict[Way, tuple[str, ...]] = {
    "batched": ("spec", "encode", "step", "decode"),
    "four methods": ("encode", "rollout", "score", "plan"),
}
WORDS: dict[Way, str] = {"batched": "a batched model", "four methods": "an object with the four methods"}


@dataclass(frozen=True)
class CallableModel:
    """The state is the observation; every imagined step is one call, so this is for trying things out."""

    dynamics: Callable[..., Any]  # (state [O], action values [A]) -> the next state [O]

    @property
    def spec(self) -> WorldModelSpec:
        return WorldModelSpec(getattr(self.dynamics, "__name__", type(self.dynamics).__name__))

    def encode(self, percept: Percept, previous: np.ndarray | None) -> np.ndarray:
        return percept.observation.astype(np.result_type(percept.observation, np.float32))

    def step(self, latents: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """latents [M,O], action values [M,A] -> latents [M,O], one call of `dynamics` per row."""
        return np.stack([self._next(*row) for row in zip(latents, actions, strict=True)])

    def decode(self, latents: np.ndarray) -> np.ndarray:
        return latents

    def _next(self, state: np.ndarray, action: np.ndarray) -> np.ndarray:
        given = state.copy(), action.copy()
        after = np.asarray(self.dynamics(*given), dtype=state.dtype)
        if not all(
            np.array_equal(left, right, equal_nan=True) for left, right in zip(given, (state, action), strict=True)
        ):
            raise BadModel(f"{self.spec.name} changed the state or action it was given; it must return a new state")
        if after.shape != state.shape:
            raise BadModel(f"{self.spec.name} must return a state of shape {state.shape}, got {after.shape}")
        return after


def own_model(name: str, **settings: Any) -> Any:
    """A model of your own, by package.module:object or the name of a plugin.

    A class, or a function of settings alone, makes the model; another function is `dynamics(state, action)`, with its
    settings filled in.
    """
    spec = MODELS.spec(name, settings)
    if isinstance(spec.factory, type) or (isinstance(spec.factory, FunctionType) and builds_part(spec.factory)):
        return spec.build()
    return update_wrapper(partial(spec.factory, **spec.settings), spec.factory) if spec.settings else spec.factory


def adapted_model(thing: Any) -> tuple[Way, Any]:
    """The way a model comes in, and the model; a plain callable is put behind the batched contract.

    One that is both counts as batched. What is neither is refused with the methods it lacks.
    """
    thing = _made(thing) if isinstance(thing, type) else thing
    lacking: dict[Way, list[str]] = {way: _missing(thing, names) for way, names in METHODS.items()}
    for way, missing in lacking.items():
        if not missing:
            return way, thing
    nearest: Way = min(lacking, key=lambda way: len(lacking[way]) / len(METHODS[way]))
    if callable(thing):
        return "batched", CallableModel(thing)
    if len(lacking[nearest]) < len(METHODS[nearest]):
        raise BadInput(f"{type(thing).__name__} is not {WORDS[nearest]}: it lacks {', '.join(lacking[nearest])}")
    raise BadInput(
        f"a model is a batched model ({', '.join(METHODS['batched'])}), an object with the four methods "
        f"({', '.join(METHODS['four methods'])}) or a callable dynamics(state, action); got {type(thing).__name__}"
    )


def _missing(thing: Any, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if getattr(thing, name, None) is None]


def _made(kind: type) -> Any:
    try:
        return kind()
    except (Exception, SystemExit) as error:
        raise BadInput(
            f"the class {kind.__name__} cannot be built: {describe_error(error)}{locate_error(error)}"
        ) from error
