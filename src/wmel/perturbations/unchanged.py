"""What a perturbation does where it does nothing."""

import numpy as np

from wmel.contract.environment import Environment
from wmel.contract.perturbation import Delivery, Moment
from wmel.randomness import Streams


class Unchanged:
    """The parts of the contract that leave everything as it is, to be mixed into a perturbation."""

    def check(self, environment: Environment) -> None:
        return None

    def carry(self, environment: Environment, count: int) -> dict[str, np.ndarray]:
        return {}

    def sense(self, observations: np.ndarray, since: np.ndarray, streams: Streams) -> np.ndarray:
        return observations

    def strike(self, environment: Environment, moment: Moment, streams: Streams) -> Moment:
        return moment

    def deliver(self, environment: Environment, delivery: Delivery) -> Delivery:
        return delivery
