"""prior: the policy a model has learned, without planning."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from wmel.arrays import Array, no_grad_unless_required, to_numpy
from wmel.contract.environment import Environment, Space
from wmel.contract.policy import Decision, Percept
from wmel.contract.world_model import HasPolicy
from wmel.errors import BadInput
from wmel.kinds import implements
from wmel.models.callable_model import adapt_model
from wmel.policies.latent_mppi import actions_in_numbers
from wmel.randomness import Streams


@dataclass(frozen=True, eq=False)
class Prior:
    """What is seen is encoded, and the mean action of the model's policy is executed; nothing is imagined."""

    space: Space
    model: Any  # with a policy of its own
    name: str = "prior"
    reads: Literal["observation", "state"] = "observation"
    compute_per_plan_call: int = 0

    @property
    def settings(self) -> dict[str, Any]:
        return {"model": self.model.spec.name, "weights": self.model.spec.weights, "execute": 1}

    def observe(self, percept: Percept, memory: dict[str, Array] | None) -> dict[str, Array] | None:
        return None

    def act(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision:
        count = len(percept)
        latents = self.model.encode(percept.visible_to(self.reads), None)
        with no_grad_unless_required(latents):
            values = to_numpy(self.model.policy(latents, None))
        chosen = self.space.nearest(values)
        return Decision(chosen[:, None], np.ones(count, np.int64), None, np.zeros(count, np.int64))


def prior(environment: Environment, model: Any = None) -> Prior:
    """The policy of a model that has one."""
    if model is None:
        raise BadInput("the policy prior needs a model with a policy of its own: run and esnr take --model FOLDER")
    way, adapted = adapt_model(model)
    if not implements(adapted, HasPolicy):
        name = adapted.spec.name if way == "batched" else type(adapted).__name__
        raise BadInput(f"{name} has no policy of its own, as prior needs; a tdmpc2 has one")
    return Prior(actions_in_numbers(environment, adapted), adapted)
