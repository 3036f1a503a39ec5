"""greedy: moves straight to the goal, past the waypoint if the environment has one, and ignores walls."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from wmel.arrays import Array
from wmel.contract.environment import Environment, Walkable
from wmel.contract.policy import Decision, Percept, StatelessPolicy
from wmel.errors import BadInput
from wmel.parts import implements
from wmel.randomness import Streams


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
