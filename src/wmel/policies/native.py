"""native: an object's own `plan`, called for one episode at a time, each with a copy of its own."""

import copy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from wmel.arrays import Array
from wmel.contract.environment import Environment
from wmel.contract.policy import Decision, Percept
from wmel.contract.spaces import Finite, Space
from wmel.errors import BadDecision, BadInput
from wmel.policies.four_methods import FourMethods
from wmel.randomness import Streams


@dataclass(frozen=True)
class Native:
    """What the object keeps between calls belongs to its copy; nothing is claimed about equality with our planners."""

    actions: Space
    model: FourMethods
    name: str = "native"
    reads: Literal["observation", "state"] = "observation"
    compute_per_plan_call: int | None = None

    @property
    def settings(self) -> dict[str, Any]:
        return {"model": type(self.model).__name__}

    def observe(self, percept: Percept, memory: dict[str, Array] | None) -> dict[str, Array]:
        if memory is not None:
            return memory
        copies = np.empty(len(percept), object)
        for row in range(len(percept)):
            copies[row] = copy.deepcopy(self.model)
        return {"model": copies}

    def act(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision:
        assert memory is not None, "act follows observe"
        plans = [
            self._travelling(model.plan(observation.copy(), goal.copy(), int(left)))[: int(left)]
            for model, observation, goal, left in zip(
                memory["model"], percept.observation, percept.goal, percept.steps_left, strict=True
            )
        ]
        lengths = np.array([len(plan) for plan in plans])
        actions = np.zeros((len(plans), max(1, lengths.max()), self.actions.width), self.actions.dtype)
        for row, plan in enumerate(plans):
            actions[row, : len(plan)] = plan
        return Decision(actions, lengths, memory, np.zeros(len(plans), np.int64))

    def _travelling(self, plan: Any) -> np.ndarray:
        """A list of actions, finite ones given by name or index, as they travel: [K,A]."""
        if isinstance(self.actions, Finite):
            names = {name: index for index, name in enumerate(self.actions.names)}
            plan = [names.get(action, action) if isinstance(action, str) else action for action in plan]
        array = np.asarray(plan, dtype=self.actions.dtype if len(plan) == 0 else None)
        if len(plan) and not np.issubdtype(array.dtype, np.number):
            raise BadDecision(f"native plans are lists of actions by name, index or value, got {plan!r}")
        return (
            array.reshape(len(plan), -1).astype(self.actions.dtype) if len(plan) else np.zeros((0, self.actions.width))
        )


def native(environment: Environment, model: Any = None) -> Native:
    """The policy of an object with the four methods."""
    if model is None:
        raise BadInput("the policy native needs a model of your own: --model package.module:object")
    return Native(environment.spec.actions, model)
