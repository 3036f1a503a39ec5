"""greedy: straight to the goal as if nothing were in the way, by the waypoint where the world declares one."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from wmel.arrays import Array
from wmel.contract.environment import Environment, Walkable
from wmel.contract.policy import Decision, Percept
from wmel.errors import BadInput
from wmel.kinds import implements
from wmel.randomness import Streams


@dataclass(frozen=True)
class Greedy:
    """An open-loop list of moves in a world without walls: first along x, then along y."""

    world: Walkable
    name: str = "greedy"
    reads: Literal["observation", "state"] = "state"
    compute_per_plan_call: int | None = None

    @property
    def settings(self) -> dict[str, Any]:
        return {}

    def observe(self, percept: Percept, memory: dict[str, Array] | None) -> dict[str, Array] | None:
        return None

    def act(self, percept: Percept, memory: dict[str, Array] | None, streams: Streams) -> Decision:
        if percept.state is None:
            raise BadInput("greedy asks the world for its waypoint by the true state, and the percept holds none")
        steps = int(percept.steps_left.max())
        actions = np.zeros((len(percept), steps, 1), np.int32)
        lengths = np.zeros(len(percept), np.int64)
        moves, target = self.world.displacements(), self.world.waypoint(percept.state)
        position = percept.observation[:, : percept.goal.shape[1]].copy()
        for step in range(steps):
            arrived = (position == target).all(axis=1)
            target = np.where(arrived[:, None], percept.goal, target)
            away = target - position
            walking = away.any(axis=1) & (step < percept.steps_left)
            if not walking.any():
                break
            chosen = _toward(away, moves)
            actions[:, step, 0] = chosen
            lengths += walking
            position += np.where(walking[:, None], moves[chosen], 0)
        return Decision(actions[:, : max(1, lengths.max())], lengths, None, np.zeros(len(percept), np.int64))


def _toward(away: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """The action [B] that walks the first axis along which something is left of away [B,G]."""
    axis = (away != 0).argmax(axis=1)
    direction = np.zeros_like(away)
    rows = np.arange(len(away))
    direction[rows, axis] = np.sign(away[rows, axis])
    return (direction[:, None, :] * moves).sum(axis=2).argmax(axis=1)


def greedy(environment: Environment) -> Greedy:
    """The greedy policy of an environment that can be walked."""
    if not implements(environment, Walkable):
        raise BadInput(
            f"greedy walks worlds that declare moves and a waypoint, and {environment.spec.name} does not; "
            "choose another policy"
        )
    return Greedy(environment)
