"""The maze sweep: ours against the bare numpy work in it, and a plain scalar Python program of the same algorithm."""

import random
import sys
from typing import Any

import numpy as np

from scalar_maze import ScalarMaze, ScalarRandomShooting, run_episode
from side_by_side import compare, verdict
from wmel import catalog, horizon_sweep
from wmel.arrays import keep_freed_memory

HORIZONS = (5, 10, 15, 20, 30)
CANDIDATES, MAX_STEPS = 200, 80
OURS_PER_POINT, SCALAR_PER_POINT, DEFAULT_PER_POINT = 500, 10, 30
ROWS = 1 << 17  # steps imagined at a time, as many as fit the cache


def scalar_sweep() -> dict[str, int]:
    """The scalar program on fewer episodes; it counts its model steps so that costs per step can be compared."""
    layout = catalog.environment("maze_toy").layout
    free = {(x, y) for x in range(layout.width) for y in range(layout.height) if layout.is_free((x, y))}
    maze, counts = ScalarMaze(free, layout.start, layout.goal), {"model_steps": 0, "successes": 0}
    for horizon in HORIZONS:
        planner = ScalarRandomShooting(
            maze.dynamics, maze.score, horizon=horizon, candidates=CANDIDATES, rng=random.Random(0)
        )
        counts["successes"] += sum(run_episode(maze, planner, MAX_STEPS)[0] for _ in range(SCALAR_PER_POINT))
        counts["model_steps"] += planner.model_steps
    return counts


def our_sweep(episodes_per_point: int = OURS_PER_POINT, timed_decisions: int = 0) -> dict[str, Any]:
    """The sweep; timing decisions for latency, which the scalar program does not do, is left out unless asked for."""
    maze = catalog.environment("maze_toy")
    points = horizon_sweep(
        maze,
        lambda horizon: catalog.policy("tabular-world-model", maze, plan_horizon=horizon, candidates=CANDIDATES),
        HORIZONS,
        episodes_per_point=episodes_per_point,
        episode_horizon=MAX_STEPS,
        timed_decisions=timed_decisions,
    )
    tables = [point.run.table for point in points]
    by_horizon = {point.plan_horizon: int(point.run.table["model_steps"].sum()) for point in points}
    return {
        "model_steps": sum(by_horizon.values()),
        "by_horizon": by_horizon,
        "successes": sum(int(table["success"].sum()) for table in tables),
    }


def bare_sweep(ours: dict[int, int]) -> None:
    """Nothing but the arithmetic of as many model steps at each horizon: random numbers, moves, distances, minima."""
    maze, philox = catalog.environment("maze_toy"), np.random.Philox(0)
    tables, moves = maze._tables, maze.spec.actions.count
    for horizon, model_steps in ours.items():
        rows = ROWS // horizon
        for _ in range(model_steps // (rows * horizon)):
            bits = philox.random_raw(-(-rows * horizon // 2)).view(np.uint32)[: rows * horizon]
            actions = ((bits >> np.uint32(9)) * np.float32(moves * 2.0**-23)).astype(np.int64).reshape(horizon, rows)
            states, lowest = np.full(rows, tables.start), np.full(rows, np.inf, np.float32)
            for now in range(horizon):
                states = tables.after.take(states + tables.states * actions[now], mode="clip")
                np.minimum(lowest, tables.distances.take(states), out=lowest)


def main() -> int:
    keep_freed_memory()  # as the command line does
    scalar, ours = scalar_sweep(), our_sweep()
    result = compare(scalar_sweep, our_sweep)
    bare = compare(our_sweep, lambda: bare_sweep(ours["by_horizon"]))
    scalar_ns = result.first / scalar["model_steps"] * 1e9
    our_ns = result.second / ours["model_steps"] * 1e9
    for name, cost, counts, episodes in (
        ("scalar Python", scalar_ns, scalar, SCALAR_PER_POINT),
        ("wmel", our_ns, ours, OURS_PER_POINT),
    ):
        rate = counts["successes"] / (episodes * len(HORIZONS))
        print(f"{name}: {cost:.1f} ns of CPU per model step; success over all horizons {rate:.3f}")
    for timed, words in ((0, "without timing decisions"), (100, "and timing decisions")):
        small = compare(scalar_sweep, lambda timed=timed: our_sweep(DEFAULT_PER_POINT, timed))
        ratio = small.first / SCALAR_PER_POINT / (small.second / DEFAULT_PER_POINT)
        print(f"     for comparison, at the default of {DEFAULT_PER_POINT} episodes per horizon {words}: {ratio:.1f}x")
    print(f"     scalar Python costs {scalar_ns / our_ns:.1f}x ours (no bound: decision 0013)")
    name = f"maze sweep of {OURS_PER_POINT} episodes per horizon over its bare arithmetic"
    return 0 if verdict(name, bare.ratio, at_most=3) else 1


if __name__ == "__main__":
    sys.exit(main())
