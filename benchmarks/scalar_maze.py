"""The maze sweep as a plain scalar Python program: the same planner, rule and loop, one state at a time."""

import random
from collections.abc import Callable

Cell = tuple[int, int]
MOVES: list[Cell] = [(0, 1), (0, -1), (-1, 0), (1, 0)]


class ScalarMaze:
    """The maze as a table of moves, with the pieces a planner is given: a dynamics function and a score."""

    def __init__(self, free: set[Cell], start: Cell, goal: Cell):
        self.start, self.goal = start, goal
        self.table = {}
        for x, y in free:
            for dx, dy in MOVES:
                ahead = (x + dx, y + dy)
                self.table[(x, y), (dx, dy)] = ahead if ahead in free else (x, y)

    def dynamics(self, state: Cell, action: Cell) -> Cell:
        return self.table[state, action]

    def score(self, state: Cell) -> int:
        return abs(state[0] - self.goal[0]) + abs(state[1] - self.goal[1])


class ScalarRandomShooting:
    """Random shooting by closest approach; it counts its model steps."""

    def __init__(
        self,
        dynamics: Callable[[Cell, Cell], Cell],
        score: Callable[[Cell], int],
        *,
        horizon: int,
        candidates: int,
        rng: random.Random,
    ):
        self.dynamics, self.score, self.rng = dynamics, score, rng
        self.horizon, self.candidates = horizon, candidates
        self.model_steps = 0

    def plan(self, start: Cell, steps_left: int) -> list[Cell]:
        length = min(self.horizon, steps_left)
        dynamics, score = self.dynamics, self.score
        best_value, best_plan = float("inf"), []
        for _ in range(self.candidates):
            actions = self.rng.choices(MOVES, k=length)
            state, value, cut = start, float("inf"), length
            cost = value
            for step, action in enumerate(actions, start=1):
                state = dynamics(state, action)
                cost = score(state)
                if cost < value:
                    value, cut = cost, step
            if cost == value:
                cut = length
            if value < best_value:
                best_value, best_plan = value, actions[:cut]
        self.model_steps += self.candidates * length
        return best_plan


def run_episode(maze: ScalarMaze, planner: ScalarRandomShooting, max_steps: int) -> tuple[bool, int]:
    """Execute each plan whole, then plan again: success and steps."""
    state, steps = maze.start, 0
    while steps < max_steps:
        for action in planner.plan(state, max_steps - steps):
            state = maze.dynamics(state, action)
            steps += 1
            if state == maze.goal:
                return True, steps
    return False, steps
