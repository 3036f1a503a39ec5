"""What a planner adds to the cost evaluations it cannot do without."""

import sys

import numpy as np
from threadpoolctl import threadpool_limits

from side_by_side import compare, verdict
from wmel.arrays import keep_freed_memory
from wmel.contract.environment import Box
from wmel.contract.planner import CandidateCosts, PlanningProblem
from wmel.planners.cem import CEM
from wmel.planners.random_shooting import RandomShooting
from wmel.randomness import Streams

WIDTH, ACTION, CANDIDATES, HORIZON = 64, 6, 512, 30
RNG = np.random.default_rng(0)
INPUT = RNG.normal(size=(ACTION, WIDTH)).astype(np.float32) / ACTION**0.5
RECURRENT = RNG.normal(size=(WIDTH, WIDTH)).astype(np.float32) / WIDTH**0.5
SPACE = Box(-np.ones(ACTION), np.ones(ACTION))


def matrix_cost(candidates: np.ndarray) -> CandidateCosts:
    """A 64-wide state driven through a 64x64 matrix and a tanh at every step: one layer of a small learned model."""
    batch, count, horizon, width = candidates.shape
    actions = candidates.reshape(batch * count, horizon, width)
    state = np.zeros((batch * count, WIDTH), np.float32)
    total = np.zeros(batch * count, np.float32)
    for step in range(horizon):
        state = np.tanh(state @ RECURRENT + actions[:, step] @ INPUT)
        total += state[:, 0]
    return CandidateCosts(total.reshape(batch, count), np.full((batch, count), horizon))


def overhead(planner: RandomShooting | CEM, batch: int) -> float:
    """CPU of a plan call over that of evaluating as many candidates alone."""
    streams = Streams(np.arange(batch), np.zeros(batch, np.int64))
    problem = PlanningProblem(matrix_cost, SPACE, streams, HORIZON, np.zeros(1))
    evaluations = planner.evaluations // planner.candidates
    candidates = RNG.uniform(-1, 1, (batch, planner.candidates, HORIZON, ACTION)).astype(np.float32)
    repeats = max(1, 16 // batch)

    def plan() -> None:
        for _ in range(repeats):
            planner.plan(problem, None)

    def bare() -> None:
        for _ in range(repeats * evaluations):
            matrix_cost(candidates)

    return compare(plan, bare, rounds=15).ratio


def main() -> int:
    keep_freed_memory()
    holds = True
    planners = {
        "random shooting": RandomShooting(HORIZON, CANDIDATES),
        "cem": CEM(HORIZON, iterations=3, candidates=CANDIDATES, elites=64),
    }
    with threadpool_limits(limits=1):
        for name, planner in planners.items():
            for batch in (1, 16):
                ratio = overhead(planner, batch)
                holds &= verdict(f"{name} over its bare cost evaluations, B = {batch}", ratio, at_most=1.5)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
