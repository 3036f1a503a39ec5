"""composite:A+B: several perturbations at once, in order."""

from dataclasses import dataclass, replace

import numpy as np

from wmel.contract.environment import Environment
from wmel.contract.perturbation import Delivery, Moment, Perturbation
from wmel.errors import BadInput
from wmel.perturbations.window import delivered, sensed, struck
from wmel.randomness import Streams


@dataclass(frozen=True, init=False)
class CompositePerturbation:
    """All of its parts strike at the same step; each lasts for its own window from there."""

    parts: tuple[Perturbation, ...]

    def __init__(self, *parts: Perturbation):
        if not parts:
            raise BadInput("a composite perturbation needs at least one part, got none")
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
            observations = sensed(part, observations, since, streams)
        return observations

    def strike(self, environment: Environment, moment: Moment, streams: Streams) -> Moment:
        for part in self.parts:
            moment = struck(part, environment, moment, streams)
        return moment

    def deliver(self, environment: Environment, delivery: Delivery) -> Delivery:
        carried = dict(delivery.carried)
        for place, part in enumerate(self.parts):
            own = {name.split(".", 1)[1]: carried[name] for name in carried if name.split(".", 1)[0] == str(place)}
            delivery = delivered(part, environment, replace(delivery, carried=own))
            carried |= {f"{place}.{name}": array for name, array in delivery.carried.items()}
        return replace(delivery, carried=carried)
