"""Models and environments as a user brings them, some of which break on some rows."""

import numpy as np

MOVES = ((0, 1), (0, -1), (-1, 0), (1, 0))
BREAKS_FROM = 4
WALLS = {(2, 5), (2, 4), (2, 3), (4, 4), (4, 3), (4, 2), (2, 1), (3, 1), (4, 1)}


def maze_dynamics(state, action):
    """One step of maze_toy: state [2], action [1] -> state [2]."""
    ahead = state + MOVES[int(action[0])]
    blocked = tuple(ahead.astype(int)) in WALLS or ahead.min() < 1 or ahead.max() > 5
    return state if blocked else ahead


def breaking_dynamics(state, action):
    """The same, but the top row of the second corridor cannot be imagined."""
    after = maze_dynamics(state, action)
    if after[0] == 3 and after[1] >= BREAKS_FROM:
        raise ValueError(f"no model of the cell {int(after[0])}, {int(after[1])}")
    return after


class FourMethods:
    """maze_toy as an object with encode, rollout, score and plan."""

    def encode(self, observation):
        return tuple(int(number) for number in observation)

    def rollout(self, latent, actions):
        trajectory = [latent]
        for action in actions:
            after = maze_dynamics(np.array(trajectory[-1], float), action)
            trajectory.append(tuple(int(number) for number in after))
        return trajectory

    def score(self, latent, goal):
        return abs(latent[0] - goal[0]) + abs(latent[1] - goal[1])

    def plan(self, observation, goal, horizon):
        """The way to the goal, one leg per call, remembered between calls."""
        legs = getattr(self, "legs", [["down"] * 3, ["right"] * 2, ["up"] * 3, ["right"] * 2, ["down"] * 4])
        self.legs = legs[1:]
        return legs[0] if legs else ["up"]


class BreakingEnvironment:
    """Another environment whose `step` raises for rows whose first observation exceeds a limit."""

    def __init__(self, environment, limit):
        self.environment, self.limit = environment, limit

    def __getattr__(self, name):
        return getattr(self.environment, name)

    def reset(self, seeds):
        return self.environment.reset(seeds)

    def step(self, states, actions):
        if (self.environment.observe(states)[:, 0] > self.limit).any():
            raise RuntimeError("this state cannot be stepped")
        return self.environment.step(states, actions)

    def observe(self, states):
        return self.environment.observe(states)

    def goals(self, states):
        return self.environment.goals(states)

    def quantities(self, states, actions, next_states):
        return self.environment.quantities(states, actions, next_states)
