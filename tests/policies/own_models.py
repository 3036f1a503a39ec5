"""The maze as a user would bring it, in three ways."""

import numpy as np

from wmel.contract.world_model import WorldModelSpec

WALLS = {(2, 5), (2, 4), (2, 3), (4, 4), (4, 3), (4, 2), (2, 1), (3, 1), (4, 1)}
MOVES = [(0, 1), (0, -1), (-1, 0), (1, 0)]


def dynamics(state, action):
    """(b) One state, one action."""
    ahead = state + MOVES[int(action[0])]
    blocked = tuple(ahead.astype(int)) in WALLS or ahead.min() < 1 or ahead.max() > 5
    return state if blocked else ahead


class Batched:
    """(a) Arrays of states and actions."""

    spec = WorldModelSpec("batched", action_input="index")

    def __init__(self):
        self.free = np.zeros((7, 7), bool)
        self.free[1:6, 1:6] = True
        self.free[tuple(np.array(sorted(WALLS)).T)] = False

    def encode(self, percept, previous):
        return percept.observation

    def step(self, latents, actions):
        ahead = latents + np.array(MOVES, np.float32)[actions[:, 0]]
        x, y = ahead.astype(int).T
        return np.where(self.free[x, y][:, None], ahead, latents)

    def decode(self, latents):
        return latents


class Four:
    """(c) The four methods on single observations."""

    def encode(self, observation):
        return tuple(int(number) for number in observation)

    def rollout(self, latent, actions):
        trajectory = [latent]
        for action in actions:
            trajectory.append(tuple(int(n) for n in dynamics(np.array(trajectory[-1], float), action)))
        return trajectory

    def score(self, latent, goal):
        return abs(latent[0] - goal[0]) + abs(latent[1] - goal[1])

    def plan(self, observation, goal, horizon):
        """Down, right, up, right, down: the way out, one leg at a time, remembered between calls."""
        legs = getattr(self, "legs", [["down"] * 3, ["right"] * 2, ["up"] * 3, ["right"] * 2, ["down"] * 4])
        self.legs = legs[1:]
        return legs[0]
