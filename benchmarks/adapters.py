"""What bringing a model one state at a time costs beside bringing it batched, and the kits beside bare rollouts."""

import sys

import numpy as np

from side_by_side import compare, verdict
from wmel import catalog, run_episodes
from wmel.contract.world_model import WorldModelSpec
from wmel.testing.kits import check_part

MOVES = np.array([(0, 1), (0, -1), (-1, 0), (1, 0)], np.float32)
PARTS = [
    "maze_toy",
    "two_room_toy",
    "oracle",
    "random-shooting",
    "cem",
    "mppi",
    "env-default",
    "drop-next-3",
    "hold-last-2",
    "observation-noise-0.5",
    "composite:drop-next-1+env-default",
    "success_rate",
    "success@20",
    "deadline@5",
]


def dynamics(state: np.ndarray, action: np.ndarray) -> np.ndarray:
    """An open field, one state at a time."""
    return np.clip(state + MOVES[int(action[0])], 1, 5)


class Batched:
    """The same field for all states at once."""

    spec = WorldModelSpec("batched", action_input="index")

    def encode(self, percept, previous):
        return percept.observation

    def step(self, latents, actions):
        return np.clip(latents + MOVES[actions[:, 0]], 1, 5)

    def decode(self, latents):
        return latents


class Four:
    """The same field behind the four methods."""

    def encode(self, observation):
        return observation

    def rollout(self, latent, actions):
        path = [latent]
        for action in actions:
            path.append(dynamics(path[-1], action))
        return path

    def score(self, latent, goal):
        return float(np.abs(latent - goal).sum())

    def plan(self, observation, goal, horizon):
        return [3] * horizon


def run(model: object) -> None:
    """Eight short episodes of cem on the model."""
    maze = catalog.environment("maze_toy")
    policy = catalog.policy("cem", maze, model=model, plan_horizon=10)
    run_episodes(maze, policy, np.arange(8), max_steps=10, timed_decisions=0)


def main() -> int:
    for name, model in (("a plain dynamics function", dynamics), ("the four methods", Four())):
        ratio = compare(lambda model=model: run(model), lambda: run(Batched()), rounds=3).ratio
        print(f"     {name}: {ratio:.0f}x the CPU of the batched model (8 episodes, 72 candidates of 10 steps)")
    maze, ratios = catalog.environment("maze_toy"), {}
    for part in PARTS:
        ratios[part] = compare(lambda part=part: check_part(part, maze), lambda: run(Batched()), rounds=2).ratio
    slowest = max(ratios, key=lambda part: ratios[part])
    name = f"slowest of {len(PARTS)} kits ({slowest}) over eight short episodes of a batched model"
    return 0 if verdict(name, ratios[slowest], at_most=100) else 1


if __name__ == "__main__":
    sys.exit(main())
