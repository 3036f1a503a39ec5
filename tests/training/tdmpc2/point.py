"""A point that is pushed along a line, with what a training in it needs."""

from dataclasses import dataclass

import numpy as np

from wmel.contract.environment import Box, EnvironmentSpec

LOW, HIGH = -1.0, 3.0  # neither from -1 to 1 nor around 0


@dataclass(frozen=True)
class Point:
    """Rests somewhere from -1 to 1; a step earns up to 1 near 0."""

    length: int = 12
    default_criterion = None

    @property
    def spec(self) -> EnvironmentSpec:
        return EnvironmentSpec("point", ("place", "speed"), Box(np.array([LOW]), np.array([HIGH])), self.length)

    def reset(self, seeds):
        places = [np.random.default_rng(int(seed)).uniform(-1, 1) for seed in seeds]
        return np.stack([places, np.zeros(len(places))], axis=1)

    def step(self, states, actions):
        assert (actions >= LOW).all() and (actions <= HIGH).all()
        push = (actions[:, 0] - (LOW + HIGH) / 2) / (HIGH - LOW) * 2
        speed = np.clip(0.8 * states[:, 1] + 0.1 * push, -0.5, 0.5)
        return np.stack([np.clip(states[:, 0] + speed, -2, 2), speed], axis=1)

    def observe(self, states):
        return states.copy()

    def goals(self, states):
        return np.zeros((len(states), 1))

    def quantities(self, states, actions, next_states):
        return {"reward": np.exp(-((next_states[:, 0] / 0.3) ** 2))}
