"""The contract of perturbations, which occur once per episode; and their text, such as `drop-next-5`, as settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from wmel.contract import old_names
from wmel.contract.environment import Environment
from wmel.errors import BadInput, require, require_whole, suggest_name
from wmel.parts import Registry, name_and_settings
from wmel.randomness import Streams

FROM_STEP = " from step "  # between the name of a perturbation and a fixed start


@dataclass(frozen=True, eq=False)
class PendingStep:
    """Episodes before their next action: the current plan exists, and nothing of this step has been executed."""

    states: np.ndarray  # [B,S]
    queue: np.ndarray  # [B,K,A], the next action first
    lengths: np.ndarray  # [B], actions left in the queue; with 0 the policy decides again in this step
    last_action: np.ndarray  # [B,A]
    since: np.ndarray  # [B], steps since the perturbation began, 0 at its first step


@dataclass(frozen=True, eq=False)
class Delivery:
    """Actions that are about to be executed."""

    actions: np.ndarray  # [B,A]
    since: np.ndarray  # [B]
    carried: dict[str, np.ndarray]


class Perturbation(Protocol):
    """An effect on episodes at each step of its window. It occurs at a step that the episode seed determines."""

    @property
    def name(self) -> str: ...

    @property
    def window(self) -> int | None:
        """The number of steps it lasts. None: to the end of the episode."""
        ...

    def check(self, environment: Environment) -> None:
        """Raises BadInput for an environment that does not support the perturbation."""
        ...

    def carry(self, environment: Environment, count: int) -> dict[str, np.ndarray]:
        """The initial arrays [B,...] of `Delivery.carried`, which `deliver` receives and returns at every step."""
        ...

    def sense(self, observations: np.ndarray, since: np.ndarray, streams: Streams) -> np.ndarray:
        """The observations [B,O] that the policy receives."""
        ...

    def strike(self, environment: Environment, pending: PendingStep, streams: Streams) -> PendingStep:
        """The perturbed step. If a queue becomes empty, the policy decides again in this step."""
        ...

    def deliver(self, environment: Environment, delivery: "Delivery") -> "Delivery":
        """The actions that are executed. It is called after any new decision."""
        ...


@dataclass(frozen=True)
class Disturbance:
    """A perturbation and the probability that it occurs in an episode."""

    perturbation: Perturbation
    probability: float
    step: int | None = None  # the step at which it begins; None: sampled from the episode seed

    def __post_init__(self):
        if self.step is not None:
            require_whole(self.step, "the step of a perturbation", at_least=0)
        require(0 <= self.probability <= 1, "the probability of a perturbation must lie in [0, 1]", self.probability)

    def check(self, environment: Environment, steps: int) -> None:
        """Raises BadInput if it does not fit the environment, or begins after the last of the steps of an episode."""
        self.perturbation.check(environment)
        if self.step is not None:
            require(self.step < steps, f"the step of a perturbation must lie in an episode of {steps} steps", self.step)


def perturbation_as_data(perturbation: str | Mapping[str, Any], registry: Registry) -> dict[str, Any]:
    """A perturbation as {name, **settings}, from that or from text."""
    if isinstance(perturbation, str):
        return parse_perturbation(perturbation, registry)
    name, settings = name_and_settings(perturbation, "perturbation")
    if name == "composite":
        return {"name": name, "parts": [perturbation_as_data(part, registry) for part in _parts_of(settings)]}
    if not settings and not registry.has(name):
        return parse_perturbation(name, registry)
    return registry.spec(name, settings).data


def build_perturbation(data: Mapping[str, Any], registry: Registry) -> Any:
    """Builds a perturbation from {name, **settings}."""
    name, settings = name_and_settings(data, "perturbation")
    if name == "composite":
        return registry.load(name)(*(build_perturbation(part, registry) for part in settings["parts"]))
    return registry.build(name, **settings)


def parse_perturbation(text: str, registry: Registry) -> dict[str, Any]:
    """Parses the text of a perturbation: env-default, drop-next-5, observation-noise-0.1@20, composite:A+B."""
    if text.startswith("composite:"):
        parts = [part.strip() for part in text.removeprefix("composite:").split("+")]
        return {"name": "composite", "parts": [parse_perturbation(part, registry) for part in parts if part]}
    by_length = sorted(registry.built_in, key=len, reverse=True)  # before plugins, which cannot replace a built-in part
    for name in (*by_length, *(name for name in registry.parts if name not in registry.built_in)):
        if text == name:
            return registry.spec(name).data
        if text.startswith(f"{name}-"):
            return _parse_strength(name, text, registry)
    return registry.spec(text).data


def _parts_of(settings: Mapping[str, Any]) -> Sequence[Any]:
    """The perturbations of a composite, which is its only setting."""
    unknown = [name for name in settings if name != "parts"]
    if unknown:
        known = suggest_name(unknown[0], ["parts"], "it takes")
        raise BadInput(f"perturbation 'composite' has no setting '{unknown[0]}';{known}")
    parts = settings.get("parts")
    if not isinstance(parts, list | tuple) or not parts:
        raise BadInput(f"perturbation 'composite' requires parts, a list of perturbations; got {parts!r}")
    return parts


def _parse_strength(name: str, text: str, registry: Registry) -> dict[str, Any]:
    """A perturbation with the strength and the optional window at the end of its text."""
    strength, _, window = text.removeprefix(f"{name}-").partition("@")
    settings = list(registry.settings_of(name))
    if not settings:
        raise BadInput(f"perturbation '{name}' has no strength, got '{text}'")
    if window and "window" not in settings:
        raise BadInput(f"perturbation '{name}' lasts one step and has no window, got '{text}'")
    values = {settings[0]: _parse_number(strength, text), **({"window": _parse_number(window, text)} if window else {})}
    return registry.spec(name, values).data


def _parse_number(word: str, text: str) -> int | float:
    """An int if the word is written as a whole number, else a float."""
    try:
        return int(word) if word.lstrip("-").isdecimal() else float(word)
    except ValueError:
        raise BadInput(f"{word!r} in '{text}' is not a number") from None


__getattr__ = old_names(__name__)
