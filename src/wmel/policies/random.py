"""random: uniform actions to the end of the episode, the floor of every comparison."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from wmel.arrays import Array
from wmel.contract.environment import Environment, Space
from wmel.contract.policy import Decision, Percept
from wmel.planners.search import uniform_actions
from wmel.randomness import Streams


@dataclass(frozen=True)
class RandomPolicy:
    """All remaining actions at once, drawn uniformly."""

    actions: Space
    name: str = "random"
    reads: Literal["observation", "state"] = "observation"
    compute_per_plan_call: int | None = None

    @property
    def settings(self) -> dict[str, Any]:
        return {}

    def observe(self, percept: Percept, memory: dict[str, Array] | None) -> dict[str, Array] | None:
        return None

    def act(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision:
        uniforms = streams.uniforms("act", (int(percept.steps_left.max()), self.actions.width))
        actions = uniform_actions(self.actions, uniforms[0])
        return Decision(actions, percept.steps_left, None, np.zeros(len(percept), np.int64))


def random_policy(environment: Environment) -> RandomPolicy:
    """The random policy of an environment."""
    return RandomPolicy(environment.spec.actions)
