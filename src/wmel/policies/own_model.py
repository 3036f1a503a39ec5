"""Bring your own model: which of the three ways an object comes in, and what it lacks."""

from typing import Any, Literal

from wmel.errors import BadInput, described
from wmel.models.callable_model import CallableModel

Way = Literal["batched", "four methods"]
METHODS: dict[Way, tuple[str, ...]] = {
    "batched": ("spec", "encode", "step", "decode"),
    "four methods": ("encode", "rollout", "score", "plan"),
}
WORDS: dict[Way, str] = {"batched": "a batched model", "four methods": "an object with the four methods"}


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
    except TypeError as error:
        raise BadInput(f"{kind.__name__} must be made before it can be used: {described(error)}") from error
