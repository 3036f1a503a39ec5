"""random: uniform actions to the end of the episode, the floor of every comparison."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from wmel.arrays import Array
from wmel.contract.environment import Environment, Space
from wmel.contract.policy import Decision, Percept, StatelessPolicy
from wmel.planners.search import uniform_actions
from wmel.randomness import Streams


@dataclass(frozen=True)
class RandomPolicy(StatelessPolicy):
    """Samples all remaining actions at once, uniformly."""

    actions: Space
    name: str = "random"
    reads: Literal["observation", "state"] = "observation"

    def act(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision:
        uniforms = streams.uniforms("act", (int(percept.steps_left.max()), self.actions.width))
        actions = uniform_actions(self.actions, uniforms[0])
        return Decision(actions, percept.steps_left, None, np.zeros(len(percept), np.int64))


def random_policy(environment: Environment) -> RandomPolicy:
    """The random policy of an environment."""
    return RandomPolicy(environment.spec.actions)
