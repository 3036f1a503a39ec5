"""Policies that do not plan: random actions, one greedy step, and a model's own policy."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from wmel.arrays import Array, no_grad_unless_required, to_numpy
from wmel.contract.environment import Environment, Space, Walkable
from wmel.contract.policy import Decision, Percept, StatelessPolicy
from wmel.contract.world_model import HasPolicy
from wmel.errors import BadInput
from wmel.models.callable_model import adapt_model
from wmel.parts import implements
from wmel.planners.search import uniform_actions
from wmel.policies.latent_mppi import check_numeric_actions
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


@dataclass(frozen=True)
class Greedy(StatelessPolicy):
    """An open-loop plan that ignores walls: first along the first axis, then along the next."""

    environment: Walkable
    name: str = "greedy"
    reads: Literal["observation", "state"] = "state"

    def act(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision:
        if percept.state is None:
            raise BadInput("greedy requires the true state to find the waypoint, and the percept has none")
        steps = int(percept.steps_left.max())
        actions = np.zeros((len(percept), steps, 1), np.int32)
        lengths = np.zeros(len(percept), np.int64)
        moves, target = self.environment.displacements(), self.environment.waypoint(percept.state)
        position = percept.observation[:, : percept.goal.shape[1]].copy()
        for step in range(steps):
            arrived = (position == target).all(axis=1)
            target = np.where(arrived[:, None], percept.goal, target)
            offset = target - position
            is_moving = offset.any(axis=1) & (step < percept.steps_left)
            if not is_moving.any():
                break
            chosen = _choose_moves(offset, moves)
            actions[:, step, 0] = chosen
            lengths += is_moving
            position += np.where(is_moving[:, None], moves[chosen], 0)
        return Decision(actions[:, : max(1, lengths.max())], lengths, None, np.zeros(len(percept), np.int64))


def _choose_moves(offset: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """The action [B] that moves along the first axis with a nonzero offset [B,G]."""
    axis = (offset != 0).argmax(axis=1)
    direction = np.zeros_like(offset)
    rows = np.arange(len(offset))
    direction[rows, axis] = np.sign(offset[rows, axis])
    return (direction[:, None, :] * moves).sum(axis=2).argmax(axis=1)


def greedy(environment: Environment) -> Greedy:
    """The greedy policy of a `Walkable` environment. Raises BadInput for any other."""
    if not implements(environment, Walkable):
        raise BadInput(
            f"greedy requires an environment that declares moves and a waypoint, and {environment.spec.name} does not; "
            "choose another policy"
        )
    return Greedy(environment)


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
