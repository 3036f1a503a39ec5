"""prior: the policy that a model has learned, without planning."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from wmel.arrays import Array, no_grad_unless_required, to_numpy
from wmel.contract.environment import Environment, Space
from wmel.contract.policy import Decision, Percept, StatelessPolicy
from wmel.contract.world_model import HasPolicy
from wmel.errors import BadInput
from wmel.models.callable_model import adapt_model
from wmel.parts import implements
from wmel.policies.latent_mppi import check_numeric_actions
from wmel.randomness import Streams


@dataclass(frozen=True, eq=False)
class Prior(StatelessPolicy):
    """Executes the mean action of the model's policy."""

    space: Space
    model: Any  # a HasPolicy model
    name: str = "prior"
    reads: Literal["observation", "state"] = "observation"
    compute_per_plan_call: int = 0

    @property
    def settings(self) -> dict[str, Any]:
        return {"model": self.model.spec.name, "weights": self.model.spec.weights, "execute": 1}

    def act(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision:
        count = len(percept)
        latents = self.model.encode(percept.visible_to(self.reads), None)
        with no_grad_unless_required(latents):
            values = to_numpy(self.model.policy(latents, None))
        chosen = self.space.nearest(values)
        return Decision(chosen[:, None], np.ones(count, np.int64), None, np.zeros(count, np.int64))


def prior(environment: Environment, model: Any = None) -> Prior:
    """The policy of a model. Raises BadInput for a model without one."""
    if model is None:
        raise BadInput("the policy prior needs a model with a policy of its own: run and esnr take --model FOLDER")
    interface, adapted = adapt_model(model)
    if not implements(adapted, HasPolicy):
        name = adapted.spec.name if interface == "batched" else type(adapted).__name__
        raise BadInput(f"{name} has no policy of its own, as prior needs; a tdmpc2 has one")
    return Prior(check_numeric_actions(environment, adapted), adapted)
