"""composite:A+B: several perturbations at the same step, in order."""

from dataclasses import dataclass, replace

import numpy as np

from wmel.contract.environment import Environment
from wmel.contract.perturbation import Delivery, PendingStep, Perturbation
from wmel.errors import BadInput
from wmel.perturbations.window import perturb_actions, perturb_observations, perturb_step
from wmel.randomness import Streams


@dataclass(frozen=True, init=False)
class CompositePerturbation:
    """All parts begin at the same step. Each lasts for its own window."""

    parts: tuple[Perturbation, ...]

    def __init__(self, *parts: Perturbation):
        if not parts:
            raise BadInput("a composite perturbation requires at least one part, got none")
        object.__setattr__(self, "parts", parts)

    @property
    def name(self) -> str:
        return "composite:" + "+".join(part.name for part in self.parts)

    @property
    def window(self) -> int | None:
        windows = [part.window for part in self.parts]
        return None if None in windows else max(window for window in windows if window is not None)

    def check(self, environment: Environment) -> None:
        for part in self.parts:
            part.check(environment)

    def carry(self, environment: Environment, count: int) -> dict[str, np.ndarray]:
        return {
            f"{place}.{name}": array
            for place, part in enumerate(self.parts)
            for name, array in part.carry(environment, count).items()
        }

    def sense(self, observations: np.ndarray, since: np.ndarray, streams: Streams) -> np.ndarray:
        for part in self.parts:
            observations = perturb_observations(part, observations, since, streams)
        return observations

    def strike(self, environment: Environment, pending: PendingStep, streams: Streams) -> PendingStep:
        for part in self.parts:
            pending = perturb_step(part, environment, pending, streams)
        return pending

    def deliver(self, environment: Environment, delivery: Delivery) -> Delivery:
        carried = dict(delivery.carried)
        for place, part in enumerate(self.parts):
            own = {name.split(".", 1)[1]: carried[name] for name in carried if name.split(".", 1)[0] == str(place)}
            delivery = perturb_actions(part, environment, replace(delivery, carried=own))
            carried |= {f"{place}.{name}": array for name, array in delivery.carried.items()}
        return replace(delivery, carried=carried)
